"""The colours of a page, and its words."""

import numpy as np
import pytest

from baserate.reports.page import DARK, LIGHT, glossary, unbroken


def luminance(colour):
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (red, green, blue)]
    return np.dot([0.2126, 0.7152, 0.0722], linear)


@pytest.mark.parametrize(("palette", "ground"), [(LIGHT, "#ffffff"), (DARK, "#14181d")])
def test_colours_stand_out(palette, ground, page):
    assert ground in page or ground == "#ffffff"
    low, high = 0.05 + luminance(ground), 0.05 + luminance(ground)
    for name, colour in palette.items():
        value = 0.05 + luminance(colour)
        contrast = max(value, high) / min(value, low)
        # W3C's contrast: 4.5 for text, 3 for lines; the truth is a thick line, and the grid may be faint.
        assert contrast > {"ink": 7.0, "rule": 1.2, "truth": 2.3}.get(name, 3.0), name


def test_names_and_percentages_are_not_broken():
    assert unbroken("shop-078 & co rose to 9.8 %") == '<span class="whole">shop-078</span> &amp; co rose to 9.8&nbsp;%'
    assert "<span" not in unbroken("-5 a - b " + "long-" * 30)
    assert unbroken("cost 5 -> 3") == "cost 5 → 3"


@pytest.mark.parametrize(
    ("body", "terms"),
    [
        ("<p>The Band of it</p>", ["band"]),
        ("<p>bands, abandoned</p>", []),
        ('<svg aria-label="the band"><path class="band"/></svg>', []),
        ("<text>90&nbsp;%\n error&nbsp;%</text>", ["error %"]),
        ("<td>2 in doubt</td>", ["in doubt"]),
        ("<td>2 in doubt, doubt is high</td>", ["doubt", "in doubt"]),
        ("<th>recall</th>", ["precision, recall"]),
    ],
)
def test_only_words_that_can_be_seen_are_explained(body, terms):
    entries = dict.fromkeys(["band", "error %", "doubt", "in doubt", "precision, recall"], "means & so on")
    found = glossary(entries, body)
    assert found.count("<dt>") == len(terms)
    assert all(f"<dt>{term}</dt><dd>means &amp; so on</dd>" in found for term in terms)
    assert bool(found) == bool(terms)
