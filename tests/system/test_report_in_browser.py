"""The report, seen by a real browser."""

import json
import os
import shutil
import subprocess

import matplotlib.image
import numpy as np
import pytest

from baserate.demo import run_demo, train_model
from baserate.reports import demo as report

pytestmark = pytest.mark.system

SPOILT = """<!doctype html><title>spoilt</title><img src="http://127.0.0.1:9/x.png"><script>nonsense()</script>"""


@pytest.fixture(scope="module")
def browser():
    found = shutil.which("chromium")
    if found is None and os.environ.get("CI"):
        pytest.fail("install chromium: apt-get install chromium")
    if found is None:
        pytest.skip("needs a browser; install chromium: apt-get install chromium")
    return found


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    report.write(run_demo(train_model(0), 60, 5), path)
    return path


def look(browser, page, folder, *options):
    """Open a page; return what the browser printed, what it complained about, and what else the page asked for."""
    net = folder / "net.json"
    done = subprocess.run(
        [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            "--enable-logging=stderr",
            f"--user-data-dir={folder / 'profile'}",
            f"--log-net-log={net}",
            *options,
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    asked = {
        event["params"]["url"]
        for event in json.loads(net.read_text())["events"]
        # The browser has business of its own: "not an origin". What a page of a file asks for has the origin null.
        if event.get("params", {}).get("initiator") == "null"
    }
    return done.stdout, complaints, asked


def picture(browser, page, folder, *options, size=(1200, 2400)):
    shot = folder / "shot.png"
    look(browser, page, folder, f"--screenshot={shot}", f"--window-size={size[0]},{size[1]}", *options)
    assert shot.read_bytes().startswith(b"\x89PNG")
    pixels = matplotlib.image.imread(shot)[:, :, :3]
    assert pixels.shape == (size[1], size[0], 3)
    return pixels


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
