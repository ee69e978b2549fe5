"""The page of all artefacts: well-formed, alone, and the same for the same run."""

import re
from html.parser import HTMLParser

import pytest

from baserate import __version__
from baserate_lab.paper.pages import report
from baserate_lab.paper.pages.records import Claim
from baserate_lab.paper.pages.run import Reproduction, ShownArtefact

from .made_up import artefact, big_run, record


@pytest.fixture(scope="module")
def page():
    return report.render(big_run())


class Reader(HTMLParser):
    """Collects elements and identifiers; complains about unclosed elements."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in ("meta", "wbr"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_it_is_well_formed_and_alone(page):
    reader = Reader(page)
    identifiers = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))
    links = [a[key] for _, a in reader.elements for key in ("href", "xlink:href", "src") if key in a]
    assert all(link.startswith("#") and link[1:] in identifiers for link in links)
    assert not re.search(r"https?://(?!www\.w3\.org)|@import|url\((?!#)", page)
    assert len(page) < 1_000_000


def test_it_has_a_section_for_each_artefact_and_a_way_there(page):
    for name in ("table-a", "fig-holdout", "fig-batch", "fig-shl"):
        assert f'<section id="{name}">' in page
        assert f'<a href="#{name}">' in page
    assert page.count("<figure>") == 4 + 1 + 3
    assert page.index("129 of 136") < page.index("<section")


def test_it_says_how_it_was_made(page):
    for said in ("baserate reproduce all --seeds 3", "1 h 23 min", f"baserate {__version__}", "numpy ", "processor"):
        assert said in page


def test_colours_are_the_pages(page):
    drawings = re.findall(r"<figure>.*?</figure>", page, re.DOTALL)
    assert not any(re.search(r"(fill|stroke): #", drawing) for drawing in drawings)


def test_cells():
    records = [record("FTH", (2.0, 0.5), (16.0, 0.3)), record("ROGD", (3.0, 0.5), None), record("Base", None, 8.0)]
    page = report.render(Reproduction("", 0.0, [ShownArtefact(artefact(), records, [])], {}))
    assert '<td><b>2.00 ± 0.50</b><sup class="mark2">**</sup><span class="paper">(16 ± 0.3)</span></td>' in page
    assert '<td>3.00 ± 0.50<sup class="mark0"></sup></td>' in page
    assert '<td>not run<sup class="mark0"></sup><span class="paper">(8 ± 0)</span></td>' in page
    assert "All 1 that do not agree" in page


def test_names_are_not_markup():
    nasty = "<script>&"
    part = ShownArtefact(
        artefact("a", title=nasty, where=nasty, note=nasty),
        [record(nasty, 9.0, 5.0, dataset=nasty, model=nasty, variant=nasty)],
        [Claim("a", nasty, False, nasty)],
    )
    page = report.render(Reproduction(nasty, 1.0, [part], {nasty: nasty}))
    assert "<script" not in page
    assert page.count("&lt;script&gt;&amp;") >= 10
    Reader(page)


def test_the_same_run_gives_the_same_bytes(page):
    assert report.render(big_run()) == page


def test_it_is_written(page, tmp_path):
    report.write(big_run(), tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == page
