"""`baserate.integrations.spark` on a real local Spark: the bits of a bank, kills, checkpoints."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ..integrations.spark import streams

pytestmark = pytest.mark.system
JOB = Path(__file__).parent / "spark_job.py"


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
    out, errors = _start(folder, name, **options).communicate(timeout=240)
    return out, errors


def _answered(out):
    return pq.read_table(out.strip().splitlines()[-1])


def test_a_static_frame_gives_the_bits_of_a_bank(folder):
    out, errors = _run(folder, "static")
    assert out, errors
    streams.same(_answered(out), _expected())


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
    os.utime(shutil.copy(folder / "in/0.parquet", folder / "in/late.parquet"))
    out, errors = _run(folder, "killed", buckets=4)
    (folder / "in/late.parquet").unlink()
    assert "begun with buckets = 3" in errors


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
