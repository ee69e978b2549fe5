"""Pages of the built documentation in a real browser, from disk: at the width of a desk and of a phone, light and dark.

These are some of the pages; `make look-at-docs` looks at all of them.
"""

import pytest

axe_core = pytest.importorskip("axe_playwright_python.sync_playwright")
playwright = pytest.importorskip("playwright.sync_api")

from . import site  # noqa: E402
from .site import SCHEMES, SITE, WIDTHS, Look, html_pages  # noqa: E402

LOOKED_AT = ["index", "changelog", "start/first_steps", "start/is_it_your_problem", "howto/index", "howto/costs"]
LOOKED_AT += ["howto/adapt", "howto/service", "how_it_works/reweighting", "how_it_works/likelihood", "results/rates"]
LOOKED_AT += ["results/compared_with", "reference/api/baserate.trackers", "examples/index"]
pytestmark = [pytest.mark.system, pytest.mark.skipif(not SITE.exists(), reason="needs the pages: make docs")]


@pytest.fixture(scope="module")
def chromium(browser):
    with playwright.sync_playwright() as player:
        started = player.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_nothing_is_wrong_with_a_page(chromium, width, scheme):
    look = Look(chromium, width, scheme, axe_core.Axe())
    for name in LOOKED_AT:
        look.open(SITE / f"{name}.html")
    look.close()
    assert look.faults == []


def test_no_page_scrolls_sideways_on_a_phone_and_no_link_is_broken(chromium):
    look = Look(chromium, 400, "light")
    for path in html_pages():
        look.open(path)
    look.close()
    assert look.faults == []
    assert look.broken_links() == []


def test_faults_are_seen(chromium, tmp_path, monkeypatch):
    monkeypatch.setattr(site, "SITE", tmp_path)
    bad = tmp_path / "bad.html"
    bad.write_text(
        '<html><body style="width: 900px"><img src="none.png"><a href="gone.html">a</a><a href="#nowhere">b</a>'
        "<script>throw new Error('broken')</script></body></html>"
    )
    look = Look(chromium, 400, "light", axe_core.Axe())
    look.open(bad)
    look.close()
    told = "\n".join(look.faults)
    for fault in ("scrolls sideways", "none.png", "script: broken", "axe: image-alt"):
        assert fault in told
    assert [fault.rpartition(": ")[2] for fault in look.broken_links()] == ["no such place", "no such file"]


def test_search_finds_from_disk(chromium):
    page = chromium.new_page()
    page.goto(f"{(SITE / 'search.html').as_uri()}?q=thresholds")
    page.wait_for_selector("ul.search li a")
    assert "Thresholds and costs" in page.text_content("ul.search")
    page.close()


def test_the_site_is_small():
    assert sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file()) < 30e6
