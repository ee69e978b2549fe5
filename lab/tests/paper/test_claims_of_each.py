"""The claims of one artefact each, asked of results that are made up: it holds, it does not, it was not run."""

import math

import numpy as np

from baserate_lab.paper.runs import base_models
from baserate_lab.paper.runs.problems import CIFAR10

from .asking import SEEDS, claims, findings, holds, result, said


def forest(changed=None, mse=None):
    errors = {"Base": 18.0, "FTH": 14.0, "FTFWH": 14.0, "ROGD": 19.0, "FLH-FTL": 13.0} | (changed or {})

    def give(cell):
        if errors.get(cell.method) is None:
            return None
        number = said(cell, "mse", "table-rf")
        exact = number.mean if number else None
        return result(errors[cell.method], (mse or {}).get(cell.method, exact))

    return holds("table-rf", give)


def test_forest():
    assert forest() == [True]
    for method in ("Base", "FTH", "FTFWH", "ROGD"):
        assert forest({method: 13.0}) == [False]
        assert forest({method: 12.9}) == [False]
        assert forest({method: None}) == [None]
    assert forest({"FLH-FTL": None}) == [None]


def holdout(flh, uogd):
    ends = {"FLH-FTL": flh, "UOGD": uogd}

    def give(cell):
        values = ends.get(cell.method, (1.0, 1.0))
        error = values[0] if cell.holdout == 100 else values[1] if cell.holdout == 10_000 else 50.0
        return None if error is None else result(error + cell.seed)

    return holds("fig-holdout", give)


def test_holdout():
    assert holdout((10.0, 9.1), (13.0, 10.0)) == [True, True]
    assert holdout((9.1, 10.0), (13.0, 10.0)) == [True, True]
    assert holdout((10.0, 8.9), (13.0, 10.0)) == [False, True]
    assert holdout((8.9, 10.0), (13.0, 10.0)) == [False, True]
    assert holdout((10.0, 9.1), (10.0, 13.0)) == [True, False]
    assert holdout((10.0, 10.0), (10.0, 10.0)) == [False, False]
    assert holdout((10.0, None), (13.0, 10.0)) == [None, None]
    assert holdout((10.0, 9.1), (None, 10.0)) == [None, None]


def split(best, missing=None):
    def give(cell):
        if cell.train_share == missing and cell.method == "FLH-FTL":
            return None
        return result(5.0 + abs(cell.train_share - best) if cell.method == "FLH-FTL" else cell.train_share)

    return claims("fig-split", give)[0]


def test_split():
    assert split(0.9).holds is True
    assert split(0.7).holds is False
    assert split(0.2).holds is False
    assert split(0.9, missing=0.35).holds is None
    assert "5.70 with 20 % for training" in split(0.9).evidence


def samples(few, many):
    methods = ("BBSE", "FLH-FTL", "UOGD")

    def give(cell):
        errors = {1: few, 300: many}.get(cell.batch_size, (99.0, 0.0, 0.0))
        error = dict(zip(methods, errors, strict=True)).get(cell.method, 0.0)
        return None if error is None else result(error)

    return holds("fig-online-samples", give)[0]


def test_samples():
    assert samples((8.0, 5.0, 6.0), (5.2, 5.0, 6.0)) is True
    assert samples((5.6, 5.0, 6.0), (5.4, 5.0, 5.5)) is True
    assert samples((5.4, 5.0, 6.0), (5.2, 5.0, 6.0)) is False  # not far behind with few
    assert samples((8.0, 5.0, 6.0), (5.6, 5.0, 6.0)) is False  # not within half a point with many
    assert samples((8.0, 5.0, 6.0), (5.2, 5.0, 5.1)) is False  # not below UOGD
    assert samples((8.0, None, 6.0), (5.2, 5.0, 6.0)) is None


def marginals(differences, std=0.0, missing=None, method="FTH", spread_of=("BBSE", "MLLS", "RLLS")):
    """Errors of one method with BBSE, MLLS, RLLS; all others are the same with each."""

    def give(cell):
        if cell.dataset != "synthetic" or missing in (cell.marginal, (cell.method, cell.shift, cell.marginal)):
            return None
        off = dict(zip(("BBSE", "MLLS", "RLLS"), differences, strict=True))[cell.marginal]
        error = 5.0 + (off if (cell.method, cell.shift) == (method, "sin") else 0.0)
        return result(error + (cell.marginal in spread_of) * std * math.sqrt(1.5) * (cell.seed - 1))

    return claims("table-marginals", give)[0]


def test_marginals():
    # Two shifts, and six of the eight methods: the others estimate nothing.
    assert marginals((0.0, 0.0, 0.0)).evidence == "12 of 12; largest difference 0.00 points"
    assert marginals((0.0, 0.25, 0.125)).holds is True
    assert marginals((0.0, 0.26, 0.125)).holds is False
    found = marginals((0.125, 0.0, -0.135))
    assert (found.holds, found.evidence) == (
        False,
        "11 of 12; largest difference 0.26 points; not sin: FTH (0.26 points)",
    )
    for method, holds_ in (("Base", True), ("OFC", True), ("FLH-FTL", False), ("UOGD", False)):
        assert marginals((0.0, 9.0, 0.0), method=method).holds is holds_


def test_marginals_within_one_std_of_the_widest():
    for which in ("BBSE", "MLLS", "RLLS"):
        assert marginals((0.0, 0.39, 0.0), std=0.4, spread_of=(which,)).holds is True
        assert marginals((0.0, 0.41, 0.0), std=0.4, spread_of=(which,)).holds is False
    assert marginals((0.0, 0.24, 0.0), std=0.1).holds is True  # the tolerance is the larger


def test_marginals_that_were_not_all_run():
    found = marginals((0.0, 9.0, 0.0), missing="MLLS")
    assert (found.holds, found.evidence) == (None, "not all was run")
    assert marginals((0.0, 9.0, 0.0), missing=("ROGD", "ber", "RLLS")).holds is None
    assert marginals((0.0, 0.0, 0.0), missing=("OFC", "ber", "RLLS")).holds is True
    assert holds("table-marginals", lambda _: None) == [None] * 3


def retrained(gaps, seeds=SEEDS, dataset="synthetic", missing=None):
    """By how much retraining is worse, seed by seed, under one shift; under the others not at all."""

    def give(cell):
        if cell.dataset != dataset or missing == (cell.method, cell.shift):
            return None
        worse = gaps[cell.seed] if (cell.method, cell.shift) == ("RT-FLH-FTL", "squ") else 0.0
        return result(5.0 + 3 * cell.seed + worse)

    return claims("table-retrain", give, seeds)


def test_retraining():
    # The standard error of 0, 1, 2 is 1 / sqrt(3), twice that is 1.1547.
    assert [claim.holds for claim in retrained((0.0, 1.0, 2.0))] == [True, None]
    assert retrained((-2.15, -1.15, -0.15))[0].holds is True
    assert retrained((-2.16, -1.16, -0.16))[0].holds is False
    assert "squ +1.00 ± 0.58" in retrained((0.0, 1.0, 2.0))[0].evidence


def test_retraining_of_one_stream_is_uncertain_by_a_quarter_of_a_point():
    for of, index in (("synthetic", 0), (CIFAR10.dataset, 1)):
        for worse, holds_ in ((0.5, True), (-0.5, True), (-0.51, False)):
            assert retrained((worse,), seeds=1, dataset=of)[index].holds is holds_
    assert "squ -0.50 ± 0.25" in retrained((-0.5,), seeds=1)[0].evidence
    # Of the images it is one stream however many are asked for.
    assert retrained((-0.5, -9.0, -9.0), dataset=CIFAR10.dataset)[1].holds is True


def test_retraining_that_was_not_all_run():
    assert [(c.holds, c.text.split(":")[0]) for c in retrained((0.5,) * 3, dataset=CIFAR10.dataset)] == [
        (None, "synthetic linear"),
        (True, CIFAR10.title),  # whatever is missing of the other
    ]
    for missing in (("RT-FLH-FTL", "ber"), ("FLH-FTL", "ber")):
        for gaps in ((0.0,) * 3, (-9.0,) * 3):
            found = retrained(gaps, missing=missing)
            assert [claim.holds for claim in found] == [None, None]
            assert found[0].evidence == "ber was not run"
    assert retrained((0.0,) * 3, missing=("UOGD", "ber"))[0].holds is True
    assert [claim.holds for claim in retrained((0.0,) * 3, dataset="none")] == [None, None]


LEARNERS = ("CT", "CT-RS/FTH", "CT-RS/FLH-FTL", "w-ERM")


def learners(errors, seeds=SEEDS, noise=0.0, noisy="CT", name="table-sols-mnist"):
    """Errors of the four; seeds differ by the same in all, but for the noise of one."""
    given = dict(zip(LEARNERS, errors, strict=True))

    def give(cell):
        if given[cell.method] is None:
            return None
        return result(given[cell.method] + cell.seed + (noise * (cell.seed - 1) if cell.method == noisy else 0.0))

    return claims(name, give, seeds)[0]


def test_learners():
    found = learners((4.0, 3.0, 2.0, 1.0))
    assert found.holds is True
    assert "CT - CT-RS/FTH: 1.00 ± 0.00;" in found.evidence
    for swapped in ((3.0, 4.0, 2.0, 1.0), (4.0, 2.0, 3.0, 1.0), (4.0, 3.0, 1.0, 2.0), (4.0, 3.0, 2.0, 2.0)):
        assert learners(swapped).holds is False
    assert "CT-RS/FLH-FTL - w-ERM: 0.00 ± 0.00 (not separated)" in learners((4.0, 3.0, 2.0, 2.0)).evidence
    for i in range(4):
        some = [None if j == i else 4.0 - j for j in range(4)]
        assert (learners(some).holds, learners(some).evidence) == (None, "not run")


def test_an_order_of_learners_that_chance_may_have_made_is_neither():
    # The standard error of -1, 0, 1 is 1 / sqrt(3), twice that is 1.1547.
    for ahead, holds_ in ((1.16, True), (1.15, None), (0.01, None), (-0.01, False), (-1.16, False)):
        found = learners((3.0 + ahead, 3.0, 1.0, 0.0), noise=1.0)
        assert found.holds is holds_, ahead
        assert ("(not separated)" in found.evidence) is (abs(ahead) < 1.1547)
        assert learners((9.0, 6.0, 3.0 + ahead, 3.0), noise=1.0, noisy="w-ERM").holds is holds_, ahead
    # One pair that is the wrong way round is enough, whatever the others are.
    assert learners((3.5, 3.0, 1.0, 2.0), noise=1.0).holds is False


def test_learners_of_one_seed():
    for errors in ((4.0, 3.0, 2.0, 1.0), (1.0, 2.0, 3.0, 4.0)):
        for name in ("table-sols-mnist", "table-sols-cifar"):
            found = learners(errors, 1, name=name)
            assert (found.holds, found.evidence) == (None, "one seed says nothing about an order")
        assert learners(errors, seeds=2).holds is (errors[0] > errors[1])


def test_time():
    def asked(fast, slow, **steps):
        given = {"CT-RS/FLH-FTL": fast, "w-ERM": slow}
        return holds(
            "table-time",
            lambda c: (
                result(seconds=given[c.method], steps=steps.get(c.method[0]))
                if given[c.method] and c.dataset == "mnist"
                else None
            ),
        )

    assert asked(10.0, 50.1) == [None, None, True, None]
    assert asked(10.0, 49.9) == [None, None, False, None]
    assert asked(50.0, 10.0) == [None, None, False, None]
    assert asked(10.0, None) == [None, None, None, None]
    assert asked(10.0, 50.1, C=10, w=30) == [None, None, True, True]
    assert asked(10.0, 50.1, C=10, w=29) == [None, None, True, False]


def test_lazy():
    """Three seeds whose gaps are the mean and 0.2 to either side."""

    def asked(gap, calls):
        def give(cell):
            if cell.method == "TrainByWeights":
                return result(8.0 + cell.seed, calls=200)
            if cell.method == "Lazy":
                return result(8.0 + cell.seed + gap + 0.2 * (cell.seed - 1), calls=calls) if gap is not None else None
            return result(99.0, calls=500)  # the literal one is shown, not judged

        return claims("table-lazy", give)

    assert [claim.holds for claim in asked(0.5, 30)] == [True, True]
    assert [claim.holds for claim in asked(0.51, 30)] == [False, False]
    assert [claim.holds for claim in asked(-2.0, 31)] == [False, False]
    assert [claim.holds for claim in asked(None, 1)] == [None, None]
    assert asked(0.25, 20)[0].evidence == "+0.25 ± 0.12 points with 10.0% of the trainings"
    assert [claim.text[:4] for claim in asked(0.0, 1)] == ["ber:", "mon:"]


def test_pool():
    def asked(gap):
        def give(cell):
            bounded = "pool" in cell.method
            if bounded and gap is None:
                return None
            return result(0.0, end_error=5.0 + cell.seed + (gap if bounded else 0.0))

        return holds("table-pool", give)

    assert (asked(1.0), asked(1.01), asked(-3.0), asked(None)) == ([True], [False], [True], [None])


def growing(power_of_time, power_of_memory, until=None):
    def give(cell):
        if cell.n_rounds == until:
            return None
        n = max(cell.n_rounds, 4096)  # short runs are all overhead
        return result(seconds=1e-6 * n**power_of_time, bytes=round(1e3 * n**power_of_memory))

    return {claim.text: claim.holds for claim in claims("table-complexity", give)}


def test_complexity():
    powers = {"T^2": 2.0, "T log T": 1.0, "T": 1.0, "1": 0.0}
    for time, memory in ((0.1, 0.1), (1.1, 1.1), (1.3, 0.3), (2.1, 1.3), (2.3, 2.3)):
        found = growing(time, memory)
        assert len(found) == 6
        for text, held in found.items():
            measured = time if "time grows" in text else memory
            said = text.rpartition("the paper's ")[2].rstrip(".")
            assert held is (measured < powers[said] + 0.2), (text, measured)
    assert set(growing(1.0, 1.0, until=16384).values()) == {None}


# The figure over time.


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
