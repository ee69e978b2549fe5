"""Pictures of reports for docs/howto/reports.md: made-up streams, the commands of that page, and a browser.

Needs chromium (``apt-get install chromium``) and Pillow, which comes with matplotlib.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from PIL import Image

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
WIDTHS = {"wide": 1280, "phone": 400}
_START = 20_513 * 86_400  # 1 March 2026, in seconds
_TALLEST = 1400  # pixels of a picture; what is below is cut off
_COLOURS = 128  # of the palette, so that a picture is small

Mix = NDArray[np.float64]


class Stream(NamedTuple):
    """Made-up outputs of a model: the rows, and the labelled rows of its holdout."""

    rows: pl.DataFrame
    holdout: pl.DataFrame


def outputs(names: list[str], mixes: Mix, source: Mix, rng: np.random.Generator, *, skill: float = 2.2) -> pl.DataFrame:
    """Probabilities of a model that is right about the source mix, for samples of one mix each, and their labels.

    Parameters
    ----------
    names : list of str
        The classes.
    mixes : (n, k) array
        The class mix that each sample is drawn from.
    source : (k,) array
        The class mix that the model was trained on.
    rng : Generator
        The randomness.
    skill : float
        How far the classes are apart.
    """
    n, k = mixes.shape
    y = (rng.random((n, 1)) > mixes.cumsum(axis=1)).sum(axis=1).clip(max=k - 1)
    x = rng.normal(size=(n, k))
    x[np.arange(n), y] += skill
    # Unit normals at distance `skill`: these are the exact probabilities.
    logits = skill * x + np.log(source)
    proba = np.exp(logits - logits.max(axis=1, keepdims=True))
    proba /= proba.sum(axis=1, keepdims=True)
    shares = {f"p_{name}": proba[:, i] for i, name in enumerate(names)}
    return pl.DataFrame(shares).with_columns(label=pl.Series(names).gather(y))


def dated(frame: pl.DataFrame, days: float) -> pl.DataFrame:
    """The rows with time stamps, spread over so many days."""
    seconds = _START + np.arange(len(frame)) * days * 86_400 / len(frame)
    return frame.with_columns(time=pl.Series((seconds * 1e6).astype(np.int64)).cast(pl.Datetime("us")))


def fraud(rng: np.random.Generator) -> Stream:
    """Fraud at 0.8 %, and a wave of it for four days."""
    n, days, source = 120_000, 30.0, np.array([0.992, 0.008])
    day = np.arange(n) * days / n
    share = np.where((day >= 11) & (day < 15), 0.098, 0.008)
    held = outputs(["good", "fraud"], np.tile(source, (5_000, 1)), source, rng)
    return Stream(dated(outputs(["good", "fraud"], np.c_[1 - share, share], source, rng), days).drop("label"), held)


def classes(rng: np.random.Generator) -> Stream:
    """Fifty classes, of which two grow."""
    k, n, names = 50, 40_000, [f"topic-{i:02}" for i in range(50)]
    source = 1.0 / np.arange(2.0, k + 2.0)
    source /= source.sum()
    after = source.copy()
    after[[7, 31]] += [0.15, 0.08]
    after /= after.sum()
    when = np.arange(n)[:, None] / n
    mixes = np.where(when < 0.4, source, np.where(when < 0.7, source + (after - source) * (when - 0.4) / 0.3, after))
    held = outputs(names, np.tile(source, (8_000, 1)), source, rng, skill=3.5)
    return Stream(dated(outputs(names, mixes, source, rng, skill=3.5), 60.0).drop("label"), held)


def keys(rng: np.random.Generator, n_keys: int = 200) -> Stream:
    """Shops, some of which have a wave of fraud, and some few rows."""
    n, days, source = 200_000, 14.0, np.array([0.98, 0.02])
    weight = rng.gamma(0.7, size=n_keys) + 0.002
    shop = rng.choice(n_keys, n, p=weight / weight.sum())
    day = np.arange(n) * days / n
    share = np.where((shop % 25 == 3) & (day > 6), 0.15, 0.02)
    frame = dated(outputs(["good", "fraud"], np.c_[1 - share, share], source, rng), days).drop("label")
    held = outputs(["good", "fraud"], np.tile(source, (5_000, 1)), source, rng)
    return Stream(frame.with_columns(shop=pl.Series([f"shop-{i:03}" for i in shop])), held)


def alarm(rng: np.random.Generator) -> Stream:
    """A field goes missing in the middle of the stream, and the model's scores are no longer what they were."""
    frame, held = steady(rng)
    share, half = frame["p_fraud"].to_numpy().copy(), len(frame) // 2
    # As if half of what the model knows were gone: every logit is halved and moved.
    logit = np.log(share[half:] / (1 - share[half:]))
    share[half:] = 1 / (1 + np.exp(-(0.4 * logit - 1.0)))
    return Stream(frame.with_columns(p_fraud=pl.Series(share), p_good=pl.Series(1 - share)), held)


def steady(rng: np.random.Generator) -> Stream:
    """Nothing changes."""
    n, source = 60_000, np.array([0.95, 0.05])
    held = outputs(["good", "fraud"], np.tile(source, (5_000, 1)), source, rng)
    return Stream(dated(outputs(["good", "fraud"], np.tile(source, (n, 1)), source, rng), 30.0).drop("label"), held)


STREAMS: dict[str, tuple[Callable[[np.random.Generator], Stream], list[str]]] = {
    "fraud": (fraud, ["--time", "time"]),
    "classes": (classes, ["--time", "time"]),
    "keys": (keys, ["--time", "time", "--key", "shop"]),
    "alarm": (alarm, ["--time", "time"]),
    "steady": (steady, ["--time", "time"]),
}


def words(name: str, options: list[str]) -> list[str]:
    """The words of the command after ``baserate adapt``, as docs/howto/reports.md prints them."""
    files = [f"{name}.parquet", "--holdout", f"{name}.holdout.parquet", "-o", f"{name}.adapted.parquet"]
    return [*files, *options, "--report", f"{name}.html"]


def write_reports(folder: Path, names: list[str], seed: int = 0) -> dict[str, Path]:
    """Write the streams and their reports into a folder; the reports by their names."""
    made = {}
    for name in names:
        make, options = STREAMS[name]
        stream = make(np.random.default_rng(seed))
        stream.rows.write_parquet(folder / f"{name}.parquet")
        stream.holdout.write_parquet(folder / f"{name}.holdout.parquet")
        subprocess.run([sys.executable, "-m", "baserate", "adapt", *words(name, options)], cwd=folder, check=True)
        made[name] = folder / f"{name}.html"
    return made


def photograph(browser: str, page: Path, picture: Path, width: int) -> None:
    """A picture of a page as a window of this width shows it, without the empty space below it."""
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "shot.png"
        # A window of chromium is at least 500 pixels wide, but a frame in it is as narrow as it is asked to be.
        frame = Path(folder) / "frame.html"
        size = f'width="{width}" height="{_TALLEST}"'
        style = "<style>body { margin: 0 } iframe { border: 0; display: block }</style>"
        frame.write_text(f'<!doctype html>{style}<iframe src="{page.as_uri()}" {size}></iframe>')
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/p"]
        options += [f"--window-size={max(width, 500)},{_TALLEST}", f"--screenshot={shot}", frame.as_uri()]
        subprocess.run([browser, *options], check=True, capture_output=True, timeout=120)
        image = Image.open(shot).convert("RGB").crop((0, 0, width, _TALLEST))
    ink = np.flatnonzero((np.asarray(image) < 250).any(axis=(1, 2)))
    image = image.crop((0, 0, width, min(int(ink[-1]) + 24, _TALLEST)))
    image.quantize(_COLOURS, dither=Image.Dither.NONE).save(picture, optimize=True)


def main() -> None:
    """Make the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(STREAMS), help="Streams to make pictures of (default: all).")
    parser.add_argument("--out", type=Path, default=IMAGES, help="Folder of the pictures.")
    parser.add_argument("--keep", type=Path, help="Folder to keep the streams and the reports in.")
    chosen = parser.parse_args()
    browser = shutil.which("chromium")
    if browser is None:
        sys.exit("There is no browser; install it: apt-get install chromium")
    chosen.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if chosen.keep is None else chosen.keep
        folder.mkdir(parents=True, exist_ok=True)
        for name, page in write_reports(folder, chosen.names).items():
            for kind, width in WIDTHS.items():
                photograph(browser, page.resolve(), chosen.out / f"report-{name}-{kind}.png", width)


if __name__ == "__main__":
    main()
