"""Errors and class mixes over time."""

import numpy as np

from baserate_lab.paper.runs import base_models

from .asking import claims, findings, result


def timeline(give):
    found = findings("fig-shl", give)
    return found.artefact.timeline(found)


def test_a_line_over_time_is_the_mean_over_seeds():
    def give(cell):
        if cell.method == "Base":
            return result(1.0, block_errors=[float(cell.seed), 4.0], block_mses=[cell.seed / 2, 0.5])
        return result(1.0, block_errors=[3.0, 2.0 * cell.seed]) if cell.method == "UOGD" else None

    found = timeline(give)
    assert found.curves == {"Base": ([1.0, 4.0], [0.5, 0.5]), "UOGD": ([3.0, 2.0], None)}
    assert timeline(lambda _: None) is None


def test_the_class_mix_over_time_is_that_of_the_labels():
    found = timeline(lambda cell: result(1.0, block_errors=[1.0]))
    base = base_models.load("hapt", "linear", 0, 0.8, False)
    mixes = np.array(found.marginals)
    n_rounds = -(-len(base.target_y) // 10)
    assert (len(mixes), found.block, found.classes) == (60, n_rounds / 60, base.class_names)
    sizes = [10 * len(part) for part in np.array_split(range(n_rounds), 60)]
    ends = np.cumsum(sizes)
    for mix, start, end in ((mixes[0], 0, ends[0]), (mixes[30], ends[29], ends[30]), (mixes[59], ends[58], None)):
        np.testing.assert_allclose(
            mix, np.bincount(base.target_y[start:end], minlength=mixes.shape[1]) / len(base.target_y[start:end])
        )


def test_the_real_stream():
    errors = {"Base": 9.0, "FTH": 8.0, "FTFWH": 8.0, "ROGD": 8.5, "FLH-FTL": 7.0}

    def asked(**changed):
        now = errors | {name.replace("_", "-"): value for name, value in changed.items()}
        give = lambda cell: None if now.get(cell.method) is None else result(now[cell.method])  # noqa: E731
        return claims("fig-shl", give)[0]

    assert asked().holds is True
    assert "the stand-in's real stream" in asked().text
    assert "Base +2.00 ± 0.00, FTH +1.00" in asked().evidence
    for name in ("Base", "FTH", "FTFWH", "ROGD"):
        assert asked(**{name: 7.0}).holds is False
        assert asked(**{name: None}).holds is None
