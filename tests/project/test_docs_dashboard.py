"""The page on the dashboard, its pictures, and what the dashboard is made of."""

import hashlib
import re

from .screenshots import ROOT

PAGES = ROOT / "src" / "baserate" / "service" / "dashboard"


def test_pictures_of_the_docs_are_small_and_used():
    pictures = sorted((ROOT / "docs" / "images").glob("dashboard-*.png"))
    assert len(pictures) == 6
    assert all(path.stat().st_size < 150_000 for path in pictures)
    page = (ROOT / "docs" / "howto" / "dashboard.md").read_text()
    assert {f"../images/{path.name}" for path in pictures} == set(re.findall(r'src="(.*?)"', page))


def test_uplot_is_unchanged_and_has_its_licence():
    told = re.findall(r"\| `(\S+)` \| `\S+` \| `([0-9a-f]{64})` \|", (PAGES / "uplot" / "README.md").read_text())
    assert {name for name, _ in told} == {path.name for path in (PAGES / "uplot").iterdir()} - {"README.md"}
    for name, checksum in told:
        assert hashlib.sha256((PAGES / "uplot" / name).read_bytes()).hexdigest() == checksum
    version = re.search(r"version ([\d.]+),", (PAGES / "uplot" / "README.md").read_text())[1]
    assert f"(v{version})" in (PAGES / "uplot" / "uPlot.esm.js").read_text()[:500]


def test_the_page_asks_for_nothing_from_elsewhere_and_has_nothing_inline():
    html = (PAGES / "index.html").read_text()
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', html)
    assert not re.findall(r'<style|\sstyle="|\son\w+="|<script(?![^>]*\ssrc=)', html)
    for path in re.findall(r'(?:src|href)="([^"#]+)"', html):
        assert (PAGES / path).is_file(), path


def test_modules_build_no_markup_from_text():
    for path in PAGES.glob("*.js"):
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", path.read_text()
        ), path.name


def test_modules_import_what_is_there_and_fit_in_the_head():
    for path in PAGES.glob("*.js"):
        text = path.read_text()
        assert len(text.splitlines()) <= 400, path.name
        for name in re.findall(r'from "\./(.*?)"', text):
            assert (path.parent / name).is_file(), f"{path.name} imports {name}"
