"""Pictures of the dashboard for docs/howto/dashboard.md: a server, the streams of screenshots.py, and a browser.

Needs chromium (``apt-get install chromium``), playwright and Pillow; takes a minute and a half, because a dashboard
shows what happens while it happens.
"""

import argparse
import io
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx
import numpy as np
import polars as pl
from PIL import Image
from playwright.sync_api import sync_playwright
from screenshots import IMAGES, STREAMS

FED = {"card-fraud": "fraud", "news-topics": "classes", "loan-default": "alarm"}
SECONDS, PER_SECOND = 75, 4
_COLOURS = 128
PICTURES = {
    # name: address, width, height, colours
    "streams-wide": ("#/", 1280, 620, "light"),
    "stream-wide": ("#/streams/card-fraud", 1280, 1180, "light"),
    "stream-dark": ("#/streams/loan-default", 1280, 1180, "dark"),
    "classes-wide": ("#/streams/news-topics", 1280, 760, "light"),
    "streams-phone": ("#/", 400, 1200, "dark"),
    "stream-phone": ("#/streams/card-fraud", 400, 1200, "light"),
}


def classes_of(frame: pl.DataFrame) -> list[str]:
    """The classes of a made-up stream, from its columns."""
    return [name.removeprefix("p_") for name in frame.columns if name.startswith("p_")]


def rows_of(frame: pl.DataFrame) -> list[list[float]]:
    """The probabilities of a made-up stream."""
    return [list(row) for row in frame.select(pl.selectors.starts_with("p_")).iter_rows()]


def feed(url: str, name: str, kind: str) -> None:
    """Make a stream, and send its rows as if they came now."""
    stream = STREAMS[kind][0](np.random.default_rng(0))
    held, classes = stream.holdout, classes_of(stream.holdout)
    labels = held["label"].to_list()
    body = {"classes": classes, "holdout": {"proba": rows_of(held), "labels": labels}}
    with httpx.Client(base_url=url, timeout=60) as client:
        client.put(f"/v1/streams/{name}", json=body).raise_for_status()
        rows, n = rows_of(stream.rows), SECONDS * PER_SECOND
        begun = time.monotonic()
        for i in range(n):
            part = rows[len(rows) * i // n : len(rows) * (i + 1) // n]
            ids = [f"{name}-{i}-{j}" for j in range(len(part))]
            client.post(f"/v1/streams/{name}/adapt", json={"proba": part, "ids": ids}).raise_for_status()
            if i == n // 3 and name == "card-fraud":
                body = {"classes": classes, "holdout": {"proba": rows_of(held)[:-1], "labels": labels[:-1]}}
                client.put(f"/v1/streams/{name}?refit=true", json=body).raise_for_status()
            time.sleep(max(0.0, begun + (i + 1) / PER_SECOND - time.monotonic()))


def start(port: int, folder: str) -> subprocess.Popen[bytes]:
    """Start a server, and return when it is ready."""
    words = [sys.executable, "-m", "baserate", "serve", "--data", folder, "--port", str(port), "--log-level", "warning"]
    server = subprocess.Popen(words)
    for _ in range(1_200):
        try:
            if httpx.get(f"http://127.0.0.1:{port}/readyz").is_success:
                return server
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    server.kill()
    sys.exit("The server did not start within two minutes.")


def main() -> None:
    """Make the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=IMAGES, help="Folder of the pictures.")
    parser.add_argument("--port", type=int, default=8799)
    chosen = parser.parse_args()
    browser = shutil.which("chromium")
    if browser is None:
        sys.exit("There is no browser; install it: apt-get install chromium")
    chosen.out.mkdir(parents=True, exist_ok=True)
    url = f"http://127.0.0.1:{chosen.port}"
    with tempfile.TemporaryDirectory() as folder:
        server = start(chosen.port, folder)
        try:
            feeding = [threading.Thread(target=feed, args=(url, *pair), daemon=True) for pair in FED.items()]
            for thread in feeding:
                thread.start()
            time.sleep(SECONDS - 12)
            with sync_playwright() as playing:
                launched = playing.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
                for name, (address, width, height, scheme) in PICTURES.items():
                    page = launched.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
                    page.goto(f"{url}/{address}")
                    page.wait_for_selector(".stream .spark, .request")
                    page.wait_for_timeout(1_000)
                    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
                    smaller = image.quantize(_COLOURS, dither=Image.Dither.NONE)
                    smaller.save(chosen.out / f"dashboard-{name}.png", optimize=True)
                    page.close()
                launched.close()
            for thread in feeding:
                thread.join()
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
