"""Every exported class keeps its contract; nothing here names one."""

import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from baserate import Bank, RegressAndReweight, load, save
from baserate.checks import checks_for, role_of
from baserate.checks._roles import move, output_of, prepare
from baserate.state import dumps
from baserate.trackers import FollowTheHistory

from .. import exported

CASES = [
    pytest.param(example, check, id=f"{name}-{check.__name__}")
    for name, example in exported.examples().items()
    for check in checks_for(example)
]


def test_discovery_finds_the_classes():
    names = {name.split(".")[1].split("[")[0] for name in exported.examples()}
    assert {"FLHFTL", "BBSE", "RegressAndReweight", "Oracle", "Base", "Adversary", "LastSighting"} <= names
    assert len(CASES) > 150


@pytest.mark.parametrize(("example", "check"), CASES)
def test_contract(example, check):
    check(example)


def test_resumed_in_another_process_is_bit_identical(tmp_path):
    """Saved at round 13, loaded elsewhere, continued to round 31: for every exported class, in one child process."""
    paths = {}
    for number, (name, example) in enumerate(exported.examples().items()):
        running = prepare(example, 13)
        paths[name] = tmp_path / f"{number}.state"
        save(running, paths[name])
        for i in range(13, 31):
            if role_of(running).move is not None:
                move(running, i)
        np.save(tmp_path / f"{number}.state.expected.npy", output_of(running))
    script = textwrap.dedent("""
        import sys, pathlib, numpy as np, baserate
        from baserate.checks._roles import move, output_of, role_of
        for path in sorted(pathlib.Path(sys.argv[1]).glob("*.state")):
            obj = baserate.load(path)
            for i in range(13, 31):
                if role_of(obj).move is not None:
                    move(obj, i)
            np.save(f"{path}.resumed.npy", output_of(obj))
    """)
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
    for name, path in paths.items():
        expected, resumed = np.load(f"{path}.expected.npy"), np.load(f"{path}.resumed.npy")
        assert expected.tobytes() == resumed.tobytes(), name


def test_the_same_numbers_without_the_compiler(tmp_path):
    """With NUMBA_DISABLE_JIT=1 the same source gives the same numbers to 1e-12, for every exported class."""
    script = textwrap.dedent("""
        import sys, numpy as np
        from tests import exported
        from baserate.checks._roles import output_of, prepare
        for number, example in enumerate(exported.examples().values()):
            np.save(f"{sys.argv[1]}/{number}.npy", output_of(prepare(example, 30)))
    """)
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, env=environment)
    for number, (name, example) in enumerate(exported.examples().items()):
        plain = np.load(tmp_path / f"{number}.npy")
        np.testing.assert_allclose(output_of(prepare(example, 30)), plain, rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("name", exported.classes())
def test_repr_and_pickle_work(name):
    """People print and pickle objects, whatever we think of pickle; joblib does."""
    for example in exported.classes()[name].examples():
        assert type(example).__name__ in repr(example)
        assert dumps(pickle.loads(pickle.dumps(example))) == dumps(example)


def test_the_bank_resumes_too(tmp_path):
    rng = np.random.default_rng(0)
    y = np.r_[np.arange(3), rng.integers(3, size=97)]
    proba = 0.7 * np.eye(3)[y] + 0.1
    adapter = RegressAndReweight(FollowTheHistory(3)).fit(proba, y)
    running = Bank(adapter)
    running.step(["a", "b", "a"], proba[:3])
    save(running, tmp_path / "bank")
    resumed = load(tmp_path / "bank")
    for _ in range(5):
        keys = rng.choice(["a", "b", "c"], size=20)
        one, two = running.step(keys, proba[:20]), resumed.step(keys, proba[:20])
        assert one.proba.tobytes() == two.proba.tobytes()
        assert one.keys == two.keys
    assert dumps(running) == dumps(resumed)
