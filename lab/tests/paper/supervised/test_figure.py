"""The command prints the tables and draws the figure."""

import numpy as np
import pytest

from baserate_lab.paper.supervised import __main__, calls, identity, marginals, regret


def test_the_command_prints_and_draws(monkeypatch, tmp_path, capsys, made_up):
    asked = []

    def answer(found):
        return lambda **options: asked.append(options["n_seeds"]) or found

    for module, found in zip((marginals, calls, identity, regret), made_up, strict=True):
        monkeypatch.setattr(module, f"run_{module.__name__.rpartition('.')[2]}", answer(found))
    monkeypatch.setattr(calls, "run_still", lambda n_jobs: {("uniform", "theory"): np.array([11])})
    __main__.main(["--figure", str(tmp_path / "all.svg"), "--seeds", "3", "--jobs", "1"])
    assert asked == [3] * 4
    assert capsys.readouterr().out.count("┏") == 5
    text = (tmp_path / "all.svg").read_text()
    assert text.startswith("<?xml")
    for name in (*marginals.TRACKERS, *regret.METHODS, "theory threshold", "well specified", "misspecified"):
        assert name in text
    with pytest.raises(SystemExit):
        __main__.main(["--seeds", "1"])
    assert "--seeds is 1; give 2 at least" in capsys.readouterr().err
