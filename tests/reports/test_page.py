"""The colours of a page."""

import numpy as np
import pytest

from baserate.reports.page import DARK, LIGHT


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
