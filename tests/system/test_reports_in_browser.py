"""The reports of docs/howto/reports.md, seen by a real browser at the width of a desk and of a phone."""

import re
from html import unescape

import pytest

from ..project.screenshots import screenshots
from .browsing import look, picture

pytestmark = pytest.mark.system

HEADLINES = {
    "fraud": r"fraud rose from 0\.8 % to (9\.\d|10\.\d) % on 1[2-5] March and is back at 0\.\d %\.",
    "classes": r"topic-07 rose from 3\.0 % to 1\d\.\d % and has stayed high since \d+ April, and \d+ others moved, .*",
    "keys": r"\d of 200 keys moved, most of all shop-\d(03|28|53|78): fraud rose from 2\.\d % to .* March and is at .*",
    "alarm": r"The class mix cannot be told since 16 March, while there is an alarm: fraud started at .*",
    "steady": r"No class moved by more than its band: fraud started at .*",
}
# Told by a script in the page around it: how wide it is, and where its headline and its figures are.
SCRIPT = r"""
const inner = this.contentDocument, box = (e) => e.getBoundingClientRect(), root = inner.documentElement;
const far = [...inner.querySelectorAll('h1, p, figure, .alarm, dl')].filter((e) => box(e).right > root.clientWidth + 1);
const head = box(inner.querySelector('h1.headline')), gap = /\b(NaN|nan|None|undefined)\b/;
const seen = head.height > 20 && head.top >= 0 && head.bottom < 1200;
document.title = [root.scrollWidth, far.length, seen ? 'seen' : 'hidden', inner.querySelectorAll('.alarm').length,
  gap.test(inner.body.innerText) ? 'gap' : 'whole'].join(' ')
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    tool = screenshots()
    return tool.write_reports(tmp_path_factory.mktemp("reports"), list(tool.STREAMS))


def measured(browser, page, folder, width):
    """Return the answers of the script about a page in a frame of this width."""
    frame = folder / "frame.html"
    script = " ".join(SCRIPT.split()).replace('"', "&quot;")
    frame.write_text(
        f'<!doctype html><title>?</title><iframe src="{page.as_uri()}" onload="{script}" width={width} height=1200 '
        'style="border: 0"></iframe>'
    )
    options = ("--dump-dom", "--allow-file-access-from-files", f"--window-size={max(width + 40, 500)},1300")
    dom, complaints, _ = look(browser, frame, folder, *options)
    assert complaints == []
    return re.search("<title>(.*?)</title>", dom)[1].split()


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", HEADLINES)
def test_it_fits_and_its_headline_is_seen(browser, pages, tmp_path, name, width):
    wide, beyond, seen, alarms, gaps = measured(browser, pages[name], tmp_path, width)
    assert (int(wide), int(beyond)) == (width, 0)
    assert seen == "seen"
    assert int(alarms) == (1 if name == "alarm" else 0)
    assert gaps == "whole"


@pytest.mark.parametrize("name", HEADLINES)
def test_it_tells_what_happened(pages, name):
    page = pages[name].read_text()
    headline = re.sub("<.*?>", "", unescape(re.search(r'<h1 class="headline">(.*?)</h1>', page)[1])).replace(
        "\xa0", " "
    )
    assert re.fullmatch(HEADLINES[name], headline), headline
    assert (">▲ alarm<" in page) is (name == "alarm")
    assert len(page) < 300_000


def test_that_test_would_notice(browser, tmp_path):
    page = tmp_path / "broken.html"
    page.write_text(
        '<!doctype html><h1 class="headline" style="width: 900px">x</h1><p style="width: 700px">nan</p>'
        '<p class="alarm">a</p>'
    )
    wide, beyond, seen, alarms, gaps = measured(browser, page, tmp_path, 400)
    assert int(wide) > 800
    assert (beyond, seen, alarms, gaps) == ("2", "seen", "1", "gap")


def test_an_alarm_is_red(browser, pages, tmp_path):
    def red(name):
        pixels = picture(browser, pages[name], tmp_path, size=(1280, 900))
        return float(((pixels[..., 0] > 0.6) & (pixels[..., 1] < 0.3) & (pixels[..., 2] < 0.3)).mean())

    assert red("alarm") > 10 * max(red("steady"), 1e-5)
