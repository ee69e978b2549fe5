"""The built documentation, seen by a real browser from disk: at the width of a desk and of a phone, light and dark."""

import pytest

from ..project.pages import ROOT

axe_core = pytest.importorskip("axe_playwright_python.sync_playwright")
playwright = pytest.importorskip("playwright.sync_api")

SITE = ROOT / "docs" / "_build" / "html"
LOOKED_AT = ["index", "start/first_steps", "start/is_it_your_problem", "howto/index", "howto/costs", "howto/adapt"]
LOOKED_AT += ["how_it_works/reweighting", "results/compared_with", "reference/api/baserate.trackers", "examples/index"]
pytestmark = [pytest.mark.system, pytest.mark.skipif(not SITE.exists(), reason="needs the pages: make docs")]


@pytest.fixture(scope="module")
def chromium(browser):
    with playwright.sync_playwright() as player:
        started = player.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(params=["light", "dark"])
def scheme(request):
    return request.param


def pages():
    return sorted(path for path in SITE.rglob("*.html") if not {"_static", "_downloads"} & set(path.parts))


@pytest.mark.parametrize("width", [400, 1280])
def test_no_page_scrolls_sideways(chromium, width):
    context = chromium.new_context(viewport={"width": width, "height": 900})
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    found = {}
    for path in pages():
        page.goto(path.as_uri(), wait_until="load")
        wide = page.evaluate("document.documentElement.scrollWidth")
        broken = page.evaluate("[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)")
        if wide > width or broken:
            found[path.relative_to(SITE).as_posix()] = (wide, broken)
    context.close()
    assert found == {}
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_serious_bars_anybody(chromium, width, scheme):
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, found = context.new_page(), []
    for name in LOOKED_AT:
        page.goto((SITE / f"{name}.html").as_uri())
        for fault in axe_core.Axe().run(page).response["violations"]:
            if fault["impact"] in ("serious", "critical"):
                found.append((name, fault["id"], fault["nodes"][0]["html"][:200], len(fault["nodes"])))
    context.close()
    assert found == []


def test_search_finds_from_disk(chromium):
    page = chromium.new_page()
    page.goto(f"{(SITE / 'search.html').as_uri()}?q=thresholds")
    page.wait_for_selector("ul.search li a")
    assert "Thresholds and costs" in page.text_content("ul.search")
    page.close()


def test_the_site_is_small():
    assert sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file()) < 30e6
