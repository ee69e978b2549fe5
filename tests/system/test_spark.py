"""`baserate.integrations.spark` on a real local Spark: the bits of a bank, kills, checkpoints."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from baserate import Bank, RegressAndReweight
from baserate.state import dumps

from ..integrations.spark import streams

pytestmark = pytest.mark.system
JOB = Path(__file__).parent / "spark_job.py"
OLD_CHECKPOINT = Path(__file__).parents[1] / "golden/older/spark-checkpoint.1.zip"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    needs = {"java": shutil.which("java"), "pyspark": importlib.util.find_spec("pyspark")}
    missing = [what for what, there in needs.items() if not there]
    if missing and os.environ.get("CI"):
        pytest.fail(f"install {' and '.join(missing)}")
    if missing:
        pytest.skip(f"needs {' and '.join(missing)}")
    made = tmp_path_factory.mktemp("spark")
    rows = streams.table(600, seed=3)
    (made / "in").mkdir()
    pq.write_table(rows, made / "all.parquet")
    for i in range(6):
        file = made / f"in/{i}.parquet"
        pq.write_table(rows.slice(100 * i, 100), file)
        os.utime(file, (1_700_000_000 + i, 1_700_000_000 + i))  # Spark takes files in this order
    proba, labels = streams.holdout()
    pd.DataFrame(proba, columns=streams.PROBA).assign(label=labels).to_parquet(made / "holdout.parquet")
    return made


def _expected():
    return streams.one_at_a_time(streams.table(600, seed=3), streams.adapter(), count=7)


def _start(folder, name, **options):
    words = [sys.executable, str(JOB), str(folder), name, json.dumps(options)]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                            start_new_session=True)  # fmt: skip


def _run(folder, name, **options):
    job = _start(folder, name, **options)
    try:
        return job.communicate(timeout=480)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        job.communicate()
        raise


def _answered(out):
    return pq.read_table(out.strip().splitlines()[-1])


def test_a_static_frame_gives_the_bits_of_a_bank(folder):
    out, errors = _run(folder, "static", partitions=5, buckets=4)
    assert out, errors
    streams.same(_answered(out), _expected())


def test_a_holdout_of_many_rows_goes_to_all_workers_of_a_stream(folder):
    """Spark cannot begin a query whose processor holds more than a megabyte, such as this adapter."""
    proba, y = streams.probabilities(16_000, seed=8)
    labels = [streams.NAMES[c] for c in y]
    pd.DataFrame(proba, columns=streams.PROBA).assign(label=labels).to_parquet(folder / "many.parquet")
    fitted = RegressAndReweight().fit(proba, labels, names=streams.NAMES)
    assert len(dumps(fitted)) > 1_100_000
    out, errors = _run(folder, "many", holdout="many.parquet", buckets=3)
    assert out, errors
    streams.same(_answered(out), streams.one_at_a_time(streams.table(600, seed=3), fitted, count=7))


def test_a_stream_that_is_killed_answers_every_row_once_and_refuses_other_buckets(folder):
    for seconds in (12.0, 16.0):
        job = _start(folder, "killed", buckets=3)
        time.sleep(seconds)
        os.killpg(job.pid, signal.SIGKILL)  # the driver, and the workers that it started
        job.communicate()
    out, errors = _run(folder, "killed", buckets=3)
    assert out, errors
    answered = _answered(out)
    streams.same(answered, _expected())
    rows = streams.table(600, seed=3)
    assert answered.sort_by("id").column("note").equals(rows.column("note"))
    state = pq.read_table(out.strip().splitlines()[-2]).to_pandas()
    assert sorted(state["key"]) == sorted(set(rows.column("shop").to_pylist()))
    assert (state["rounds"] * 7 + state["pending"]).sum() == 600
    _check_estimates(state.set_index("key"))
    said = json.loads((folder / "said-killed.json").read_text())
    assert 0 < sum(measures["rows"] for measures in said) <= 600
    assert all(measures["seconds"] > 0 for measures in said)
    assert said[-1]["buckets"] == 3
    os.utime(shutil.copy(folder / "in/0.parquet", folder / "in/late.parquet"))
    out, errors = _run(folder, "killed", buckets=4)
    (folder / "in/late.parquet").unlink()
    assert "begun with buckets = 3" in errors


def _check_estimates(state):
    """Check that bands and accuracies are those of a `Bank` that was told the same."""
    known = state[state["rounds"] > 0]
    shares = known[[f"prior_{name}" for name in streams.NAMES]].to_numpy()
    assert (known[[f"low_{name}" for name in streams.NAMES]].to_numpy() <= shares).all()
    assert (known[[f"high_{name}" for name in streams.NAMES]].to_numpy() >= shares).all()
    assert known["accuracy"].between(known["accuracy_low"], known["accuracy_high"]).all()
    bank, rows = Bank(streams.adapter()), streams.table(600, seed=3).to_pylist()
    key = known["rounds"].idxmax()
    mine = [row for row in rows if row["shop"] == key]
    for i in range(0, len(mine) - 6, 7):
        part = mine[i : i + 7]
        bank.update([key] * 7, [[row[p] for p in streams.PROBA] for row in part], [row["truth"] for row in part])
    assert known.loc[key, ["accuracy", "accuracy_low", "accuracy_high"]].tolist() == [
        *bank.estimated_accuracy([key])[0]
    ]
    limits = bank.prior_interval([key])[0]
    for side, values in zip(("low", "high"), limits.T, strict=True):
        assert known.loc[key, [f"{side}_{name}" for name in streams.NAMES]].tolist() == values.tolist()


def test_a_checkpoint_of_an_older_layout_goes_on(folder, tmp_path):
    with zipfile.ZipFile(OLD_CHECKPOINT) as archive:
        archive.extractall(tmp_path / "checkpoint-golden")
    for file in (tmp_path / "checkpoint-golden").rglob("*"):  # some of which name the folder that they are in
        if file.is_file() and b"/FOLDER/" in file.read_bytes():
            file.write_bytes(file.read_bytes().replace(b"/FOLDER/", f"{tmp_path}/".encode()))
    rows = streams.table(300, seed=21, n_keys=5)  # of which the checkpoint has seen the first two files
    (tmp_path / "in").mkdir()
    for i, (begin, end) in enumerate([(0, 75), (75, 150), (150, 300)]):
        pq.write_table(rows.slice(begin, end - begin if i == 2 else 0), tmp_path / f"in/{i}.parquet")
    pq.write_table(rows, tmp_path / "all.parquet")
    shutil.copy(folder / "holdout.parquet", tmp_path)
    _, errors = _run(tmp_path, "golden", buckets=2)
    # Spark itself would look for the log of the files that were written before.
    answered = streams.by_id(pq.read_table(tmp_path / "out-golden"))
    assert answered, errors
    expected = streams.one_at_a_time(rows, streams.adapter(), count=7)
    later = rows.slice(150).column("id").to_pylist()
    assert sorted(answered) == sorted(later)
    for name in later:
        proba, number, _ = expected[name]
        assert answered[name]["adapted_round"] == number
        # The state is of another machine, whose last digits may differ.
        assert [answered[name][f"adapted_{p}"] for p in streams.PROBA] == pytest.approx(proba.tolist(), abs=1e-9)


def test_rows_wait_for_the_watermark(folder):
    out, errors = _run(folder, "watermarked", watermark="5 minutes", buckets=2)
    assert out, errors
    answered, expected = _answered(out), _expected()
    latest = pa.compute.max(streams.table(600, seed=3).column("at")).cast("int64").as_py()
    on_time = [row["id"] for row in streams.table(600, seed=3).to_pylist()
               if row["at"].timestamp() * 1e6 <= latest - 5 * streams.MINUTE]  # fmt: skip
    got = set(answered.column("id").to_pylist())
    assert set(on_time) <= got
    assert len(got) < 600
    streams.same(answered, {name: expected[name] for name in got})
