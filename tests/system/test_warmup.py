"""After warmup, no run compiles anything."""

import os
import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.system


def _run(folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "baserate", *map(str, arguments)],
        cwd=folder,
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache"), "NUMBA_DISABLE_JIT": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {file.name for file in (folder / "cache").rglob("*.nbc")}


def test_a_run_after_warmup_compiles_nothing(tmp_path):
    rng = np.random.default_rng(0)
    for name, n, share in (("holdout", 400, 0.3), ("stream", 600, 0.6)):
        y = rng.random(n) < share
        p = 1.0 / (1.0 + np.exp(-rng.normal(np.where(y, 1.5, -1.5), 1.0)))
        rows = [f"{i},{i % 5},{1 - p[i]:.6f},{p[i]:.6f},{int(y[i])}" for i in range(n)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,shop,p_0,p_1,label", *rows]))
    compiled = _run(tmp_path, "warmup")
    assert len(compiled) > 20
    adapt = ("adapt", "stream.csv", "--holdout", "holdout.csv", "-o", "out.csv")
    for more in (
        [],
        ["--costs", "1:20"],
        ["--key", "shop"],
        ["--labels", "label"],
        ["--id", "id", "--wait", "100", "--state", "kept"],
    ):
        assert _run(tmp_path, *adapt, *more) - compiled == set(), more
    late = ("--id", "id", "--wait", "100", "--state", "kept", "--late", "stream.csv", "--labels", "label")
    assert _run(tmp_path, "adapt", "stream.csv", "-o", "more.csv", *late) - compiled == set()
    assert _run(tmp_path, "backtest", "stream.csv", "--label", "label", "--methods", "none") - compiled == set()
