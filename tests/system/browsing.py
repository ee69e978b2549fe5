"""Pages, opened in a real browser."""

import json
import subprocess

import matplotlib.image


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
