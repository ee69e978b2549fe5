"""Speed of `baserate adapt` against polars, which only reads and writes the same file.

python perf/files.py                    a million rows, a table
python perf/files.py --rows 10000000    ten million rows, as in the docs: takes a quarter of an hour and 8 GB of disk
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
from measurements import Row
from timing import fastest

K = 10
BOUND = 3.0
MEMORY = 1e9

_POLARS = """
import sys
import polars
source, target, *codec = sys.argv[1:]
form = source.rpartition(".")[2]
table = getattr(polars, f"read_{form}")(source)
getattr(table, f"write_{form}")(target, **dict(zip(["compression"], codec)))
"""
_ADAPT = "import sys; from baserate.cli import main; main(['adapt', *sys.argv[1:]])"


def write_stream(folder, n_rows, seed=0):
    """Write a model's probabilities under a drifting class mix in each format, and a holdout."""
    import polars

    rng = np.random.default_rng(seed)
    chunk = 500_000
    tables = []
    for start in range(0, n_rows, chunk):
        mix = rng.dirichlet(np.full(K, 2.0))
        tables.append(_table(rng, min(chunk, n_rows - start), mix)[0])
    table = polars.concat(tables).with_row_index("id")
    for form in ("parquet", "csv"):
        getattr(table, f"write_{form}")(folder / f"stream.{form}")
    held, y = _table(rng, 5_000, np.full(K, 1 / K))
    held.with_columns(label=y).write_parquet(folder / "holdout.parquet")


def _table(rng, n, mix):
    """Samples of a class mix, with probabilities that are calibrated for a balanced mix."""
    import polars

    y = rng.choice(K, n, p=mix)
    logits = rng.normal(size=(n, K))
    logits[np.arange(n), y] += 2.0
    proba = np.exp(2.0 * logits)
    proba /= proba.sum(axis=1, keepdims=True)
    return polars.DataFrame(proba, schema=[f"p_{c}" for c in range(K)]), y


def child(code, *arguments, new):
    """Seconds that a process takes from start to end; its output files are removed before."""
    for path in new:
        path.unlink(missing_ok=True)  # otherwise removing it would be timed too
    os.sync()  # otherwise writing earlier data to disk would be timed too
    start = perf_counter()
    subprocess.run([sys.executable, "-c", code, *map(str, arguments)], check=True, capture_output=True)
    return perf_counter() - start


def adapting(n_rows=1_000_000, repeats=3, formats=("parquet", "csv")):
    """Rows of the table for the whole command, including start-up and fit."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_stream(folder, n_rows)
        for form in formats:
            source, target, state = folder / f"stream.{form}", folder / f"out.{form}", folder / "state"
            words = [source, "--holdout", folder / "holdout.parquet", "-o", target]
            run = partial(child, new=[target, state])
            codecs = [[], ["snappy"]] if form == "parquet" else [[]]
            bare, saved, alone, *alike = fastest(
                partial(run, _ADAPT, *words),
                partial(run, _ADAPT, *words, "--state", state),
                *(partial(run, _POLARS, source, target, *codec) for codec in codecs),
                repeats=repeats,
            )
            against = f"polars reads and writes the {form} file"
            what = f"baserate adapt, {n_rows:,} rows x {K} classes"
            bound = BOUND if n_rows >= 10_000_000 else None
            note = "whole processes; starting up and fitting weigh less in larger files"
            rows.append(Row(f"{what}, {form}", against, bare, alone, "cheap", bound, note))
            rows.append(Row(f"{what}, {form}, --state", against, saved, alone, "cheap", bound, note))
            for seconds in alike:
                rows.append(Row(f"{what}, {form}", f"{against}, by snappy, too", bare, seconds, "cheap", None, note))
    return rows


def peak_memory(n_rows, form):
    """Peak resident memory of the command, in bytes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_stream(folder, n_rows)
        code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import files; files._peak()"
        words = [folder / f"stream.{form}", "--holdout", folder / "holdout.parquet", "-o", folder / f"out.{form}"]
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, words)], check=True, capture_output=True, text=True
        )
        return float(done.stdout.split()[-1])


def _peak():
    subprocess.run([sys.executable, "-c", _ADAPT, *sys.argv[1:]], check=True, capture_output=True)
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    missed = False
    for row in adapting(options.rows, options.repeats):
        print(
            f"{row.what}: {row.subject_seconds:.2f} s, {row.against}: {row.baseline_seconds:.2f} s, "
            f"ratio {row.ratio:.2f}" + (f", at most {row.bound:g}" if row.bound else "")
        )
        missed |= row.passed is False
    for form in ("parquet", "csv"):
        memory = peak_memory(options.rows, form)
        print(f"peak memory, {form}: {memory / 1e6:,.0f} MB, at most {MEMORY / 1e6:,.0f}")
        missed |= memory > MEMORY
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
