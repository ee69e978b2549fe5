"""The report, seen by a real browser."""

import numpy as np
import pytest

from baserate.demo import run_demo, train_model
from baserate.reports import demo as report

from .browsing import look, picture

pytestmark = pytest.mark.system

SPOILT = """<!doctype html><title>spoilt</title><img src="http://127.0.0.1:9/x.png"><script>nonsense()</script>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    report.write(run_demo(train_model(0), 60, 5), path)
    return path


def test_it_needs_nothing_and_complains_of_nothing(browser, page, tmp_path):
    assert look(browser, page, tmp_path, "--dump-dom")[1:] == ([], set())


def test_that_test_would_notice(browser, tmp_path):
    spoilt = tmp_path / "spoilt.html"
    spoilt.write_text(SPOILT)
    _, complaints, asked = look(browser, spoilt, tmp_path, "--dump-dom")
    assert any("nonsense is not defined" in line for line in complaints)
    assert asked == {"http://127.0.0.1:9/x.png"}


def test_it_is_drawn(browser, page, tmp_path):
    pixels = picture(browser, page, tmp_path)
    colours = len(np.unique(pixels.reshape(-1, 3), axis=0))
    assert colours > 100
    assert pixels[0, 0].tolist() == [1.0, 1.0, 1.0]
    ink = (pixels.mean(axis=2) < 0.9).mean(axis=1)
    # No stretch of 300 rows, of text or of figures, is empty.
    assert all(ink[i : i + 300].max() > 0 for i in range(0, len(ink), 300))


def test_it_follows_the_reader_into_the_dark(browser, page, tmp_path):
    pixels = picture(browser, page, tmp_path, "--blink-settings=preferredColorScheme=0")
    assert pixels.mean() < 0.2
    assert pixels.max() > 0.85


def test_it_fits_a_phone(browser, page, tmp_path):
    frame = tmp_path / "frame.html"
    script = "document.title = this.contentDocument.documentElement.scrollWidth"
    frame.write_text(
        f"""<!doctype html><title>?</title><iframe src="{page.as_uri()}" onload="{script}" width=380 height=700
        style="border: 0"></iframe>"""
    )
    dom, _, _ = look(browser, frame, tmp_path, "--dump-dom", "--allow-file-access-from-files")
    assert "<title>380</title>" in dom
