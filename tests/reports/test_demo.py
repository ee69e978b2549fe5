"""The page of the demo: what it holds, whole, accessible, and from nowhere else."""

import re
import sys
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pytest

from baserate import __version__
from baserate.demo import run_demo, train_model
from baserate.demo.experiment import MOVING
from baserate.reports import demo as report
from baserate.reports import figures
from baserate.reports.demo_rows import COLUMNS, SUMMARY, conclusion, demo_rows, standing, summary_rows


class Reader(HTMLParser):
    """Collects elements with their attributes, and the text of table cells; complains about unclosed elements."""

    VOID = ("meta", "wbr")

    def __init__(self, page):
        super().__init__()
        self.elements, self.cells, self.open = [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if {"td", "th"} & set(self.open):
            self.cells[-1] += text

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def shown(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


def test_the_tables_hold_the_results(demo, page):
    cells = Reader(page).cells
    width = len(SUMMARY)
    first = [cells[i : i + width] for i in range(0, 6 * width, width)]
    assert first[0] == [column.title for column in SUMMARY]
    for row, line in zip(summary_rows(demo_rows(demo)), first[1:], strict=True):
        assert line == [row["shift"], *(f"{100 * row[method]:.2f}" for method in ("Base", "baserate", "Oracle"))]
    cells = cells[6 * width :]
    width = len(COLUMNS)
    lines = [cells[i : i + width] for i in range(0, len(cells), width)]
    assert lines.count([column.title for column in COLUMNS]) == 4
    bodies = [line for line in lines if line[0] != COLUMNS[0].title]
    for row, line in zip(demo_rows(demo), bodies, strict=True):
        assert line[0] == row["method"] + (" best" if row["best"] else "")
        assert line[1:] == [
            f"{100 * row['error']:.2f}",
            shown(row["mse"], 4),
            shown(row["mse_to_frequencies"], 4),
            shown(row["dynamic_regret"], 1),
        ]


def test_it_opens_with_the_finding(demo, page):
    text = re.sub(r"<[^>]*>", "", page).replace("&nbsp;", " ")
    assert conclusion(demo_rows(demo)) in text
    assert text.index(conclusion(demo_rows(demo))) < text.index("Monotone")


def test_all_other_methods_are_folded_away(demo, page):
    first, folded = page.split("<details>")
    for method in {cell.method for cell in demo.cells} - {"baserate"}:
        assert not re.search(rf"\b{re.escape(method)}\b", re.sub(r"<style>.*?</style>", "", first, flags=re.DOTALL))
        assert method in re.sub("<wbr>", "", folded)
    text = re.sub(r"<[^>]*>", "", folded).replace("&nbsp;", " ")
    assert standing(demo_rows(demo)) in text
    assert "It can beat the oracle for two reasons." in text


def test_each_shift_has_a_sentence_with_its_mistakes(demo, page):
    for shift in ("Monotone", "Square", "Sinusoidal", "Bernoulli"):
        wrong = {cell.method: cell.evaluation.wrong.sum() for cell in demo.cells if cell.shift == shift}
        sentence = f"{wrong['Base']:,} mistakes become {wrong['baserate']:,}; with the true mix, {wrong['Oracle']:,}."
        assert sentence in page.partition(f"<h2>{shift}</h2>")[2].partition("</section>")[0]


def test_the_first_pictures_are_of_the_share_and_of_mistakes_so_far(demo, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "charts_svg", lambda charts, *_, **__: drawn.append(charts) or "")
    report.render(demo)
    cells = {cell.method: cell.evaluation for cell in demo.cells if cell.shift == "Square"}
    shares, mistakes = (chart.lines for chart in drawn[1])
    assert list(shares) == list(mistakes) == ["doing nothing", "baserate", "told the true mix"]
    assert shares["told the true mix"].y == cells["Base"].q[:, MOVING].tolist()
    assert shares["baserate"].y == cells["baserate"].prior[:, MOVING].tolist()
    assert mistakes["doing nothing"].y == cells["Base"].wrong.cumsum().tolist()
    assert mistakes["baserate"].x == list(range(1, 51))


def test_it_says_how_hard_the_moving_class_is(demo, page):
    wrong = demo.model.pool_proba.argmax(axis=1) != demo.model.pool_y
    eights = wrong[demo.model.pool_y == 8]
    assert f"mistakes {100 * eights.mean():.0f}&nbsp;% of them and {100 * wrong.mean():.0f}&nbsp;% of all" in page


def test_it_says_what_made_it(page):
    assert "baserate demo --rounds 50 --batch-size 5 --seed 3" in page
    for version in (f"baserate {__version__}", f"NumPy {np.__version__}", f"Python {sys.version.split()[0]}"):
        assert version in page


def test_it_asks_for_nothing_from_outside(page):
    assert "://" not in page
    assert "@import" not in page
    reader = Reader(page)
    assert {"script", "link", "img", "iframe", "image", "object"}.isdisjoint(tag for tag, _ in reader.elements)
    for _, attributes in reader.elements:
        assert attributes.get("src") is None
        assert attributes.get("xlink:href", attributes.get("href", "#")).startswith("#")
    assert set(re.findall(r"url\((.)", page)) == {"#"}


def test_references_within_the_page_are_good(page):
    ids = Counter(attributes["id"] for _, attributes in Reader(page).elements if "id" in attributes)
    assert set(ids.values()) == {1}
    assert set(re.findall(r'(?:url\(|href=")#([\w.-]+)', page)) <= set(ids)
    defined = set(re.findall(r"--(\w+):", page))
    assert set(re.findall(r"var\(--(\w+)\)", page)) <= defined


def test_it_is_accessible(page):
    reader = Reader(page)
    assert reader.all("html") == [{"lang": "en"}]
    assert len(reader.all("title")) == len(reader.all("h1")) == len(reader.all("main")) == 1
    assert len(reader.all("caption")) == len(reader.all("table")) == 5
    assert len(reader.all("figcaption")) == len(reader.all("figure")) == 15
    pictures = [a for a in reader.all("svg") if "aria-hidden" not in a]
    assert len(pictures) == 15
    assert all(a["role"] == "img" and a["aria-label"] for a in pictures)
    assert all(a["scope"] in ("row", "col") for a in reader.all("th"))


def test_the_same_seed_gives_the_same_bytes(page):
    assert report.render(run_demo(train_model(0), 50, 5, seed=3)) == page


def test_one_round_is_enough():
    Reader(report.render(run_demo(train_model(0), 1, 1)))


def test_a_ruinous_method_leaves_the_picture_and_the_caption_says_so(demo, page):
    saved = {"good": np.array([0, 100]), "ruin": np.array([0, -5000])}
    assert figures.lower_edge(saved) == -75
    assert figures.lower_edge({"ruin": np.array([0, -5000])}) == -np.inf
    wrong = {c.method: c.evaluation.wrong.sum() for c in demo.cells if c.shift == "Monotone"}
    ending = wrong["Base"] - wrong["LastSighting"]
    assert f"LastSighting leaves the picture and ends at {ending:,}." in page


def test_it_is_written_whole_or_not_at_all(demo, page, tmp_path, monkeypatch):
    target = tmp_path / "report.html"
    report.write(demo, target)
    before = target.read_bytes()
    assert before == page.encode()

    def interrupted(self, target):
        assert self.stat().st_size > 0
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "render", lambda demo: "another page")
    monkeypatch.setattr("pathlib.Path.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        report.write(demo, target)
    assert target.read_bytes() == before
    assert list(tmp_path.iterdir()) == [target]


def test_the_figure_is_of_the_class_that_moves(demo, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "mix_figure", lambda truth, tracked, *_, **__: drawn.append((truth, tracked)) or "")
    report.render(demo)
    (first,) = (cell for cell in demo.cells if (cell.shift, cell.method) == ("Monotone", "Arrows"))
    np.testing.assert_array_equal(drawn[0][0], first.evaluation.q[:, MOVING])
    np.testing.assert_array_equal(drawn[0][1]["Arrows"], first.evaluation.prior[:, MOVING])
    assert not {"UOGD", "ATLAS", "Base", "Oracle", "OptimalFixed"} & set(drawn[0][1])
