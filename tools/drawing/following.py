"""Following a mix that moves: online regression, few changes, the likelihood mixture, hindsight."""

import numpy as np

import baserate
from baserate.marginals import BBSE, MLLS
from baserate.protocols import Evidence
from baserate.trackers import FLHFTL, FollowTheHistory, LastSighting, LikelihoodMixture, LowSwitching
from baserate_lab.bench.figures import figure_file

from .looks import ABOVE, FAINT, IMAGES, MODEL, OTHER, OURS, TRUE, scores


def _tracked(tracker, batches, marginal, read=None):
    path, readings = [], []
    for batch in batches:
        path.append(100 * tracker.predict()[1])
        tracker.update(marginal.estimate(batch))
        readings.append(read(tracker) if read else None)
    return np.array(path), readings


def _square(rng, n_rounds=600):
    share = np.where((np.arange(n_rounds) // 200) % 2 == 0, 0.3, 0.7)
    return share, [scores(rng, 10, q, source=0.3)[0] for q in share]


def _memory(tracker):
    """Return the number of rounds that FLH-FTL averages over: the mean age of its experts, by weight."""
    weights = np.exp(tracker.get_state()["_log_weights"])
    return float((weights * np.arange(len(weights))[::-1]).sum() / weights.sum())


def online_regression():
    """Three trackers on the same noisy estimates, and how far back FLH-FTL looks."""
    rng = np.random.default_rng(2)
    marginal = BBSE().fit(*scores(rng, 5000, 0.3, source=0.3))
    share, batches = _square(rng)
    with figure_file(IMAGES / "online_regression.svg", (7.5, 5.4)) as figure:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
        for name, tracker, colour in (
            ("last batch", LastSighting(2), FAINT),
            ("mean of all", FollowTheHistory(2), MODEL),
            ("FLH-FTL", FLHFTL(2), OURS),
        ):
            path, memory = _tracked(tracker, batches, marginal, _memory if name == "FLH-FTL" else None)
            above.plot(path, color=colour, label=name, lw=1.5)
        above.plot(100 * share, color=TRUE, lw=1.2, label="truth")
        above.set_ylabel("share, %")
        above.legend(ncols=4, **ABOVE)
        below.plot(memory, color=OURS)
        below.set_ylabel("rounds that FLH-FTL\naverages over")
        below.set_xlabel("round of 10 rows")
    print("online_regression: rounds after the first jump until 60 %:", int(np.argmax(path[200:] > 60)))


def low_switching():
    """A tracker, and the same behind LPA."""
    rng = np.random.default_rng(2)
    marginal = BBSE().fit(*scores(rng, 5000, 0.3, source=0.3))
    share, batches = _square(rng)
    with figure_file(IMAGES / "low_switching.svg", (7.5, 3.6)) as figure:
        axes = figure.subplots()
        plain, _ = _tracked(FLHFTL(2), batches, marginal)
        axes.plot(plain, color=MODEL, lw=1.2, label="FLH-FTL")
        path, _ = _tracked(LowSwitching(FLHFTL(2)), batches, marginal)
        axes.step(range(len(path)), path, color=OURS, label="behind LPA", where="post")
        axes.plot(100 * share, color=TRUE, lw=1.2, label="truth")
        axes.set_xlabel("round of 10 rows")
        axes.set_ylabel("share, %")
        axes.legend(ncols=3, **ABOVE)
    print("low_switching: changes behind LPA:", int((np.diff(path) != 0).sum()), "of", len(path))


def mixture():
    """A rare class that grows from 1 to 8 %: the default beside FLH-FTL, mean over twenty streams."""
    share = np.where(np.arange(120) < 30, 0.01, 0.08)
    paths = {}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        holdout = scores(rng, 5000, 0.01)
        batches = [scores(rng, 100, q)[0] for q in share]
        for name, tracker, colour in (("likelihood mixture", None, OURS), ("FLH-FTL", FLHFTL(2), MODEL)):
            adapter = baserate.RegressAndReweight(tracker, gate=False).fit(*holdout)
            paths.setdefault((name, colour), []).append([100 * adapter.step(batch).prior[1] for batch in batches])
    with figure_file(IMAGES / "mixture.svg", (7.5, 3.6)) as figure:
        axes = figure.subplots()
        for (name, colour), rows in paths.items():
            low, high = np.quantile(rows, [0.1, 0.9], axis=0)
            axes.fill_between(range(len(share)), low, high, color=colour, alpha=0.15, lw=0)
            mean = np.mean(rows, axis=0)
            axes.plot(mean, color=colour, label=name)
            print(f"mixture: {name} reaches 7 % after {np.argmax(mean > 7) - 30} rounds of 100")
        axes.plot(100 * share, color=TRUE, lw=1.2, label="truth")
        axes.set_xlabel("round of 100 rows (mean of 20 streams; shaded: 10 % to 90 % of them)")
        axes.set_ylabel("share, %")
        axes.legend(ncols=3, **ABOVE)


def near_maximum_likelihood():
    """Squared error after a jump from 5 to 40 %, beside maximum likelihood that is told when the jump was."""
    source, mix = np.array([0.95, 0.05]), np.array([0.6, 0.4])
    marks, before, n = np.array([100, 200, 500, 1000, 2000, 5000]), 30, 100
    found = {}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        quiet, _ = scores(rng, before * n, source[1], 1.2, source[1])
        after, _ = scores(rng, marks[-1], mix[1], 1.2, source[1])
        proba = np.concatenate([quiet, after])
        estimator = MLLS(base="prior", source_prior=source).fit()
        best = [estimator.estimate(after[:mark]) for mark in marks]
        starts = np.append(np.arange(0, len(proba) + 1, n), len(proba))
        tracker = LikelihoodMixture(2, prior=source).play(Evidence(proba, source, starts=starts))
        marginal, regression, path = (
            BBSE().fit(*scores(rng, 5000, source[1], 1.2, source[1])),
            FLHFTL(2, prior=source),
            [],
        )
        for start in range(0, len(proba), n):
            regression.update(marginal.estimate(proba[start : start + n]))
            path.append(regression.predict())
        found.setdefault("FLH-FTL", []).append([path[before + mark // n - 1] for mark in marks])
        found.setdefault("likelihood mixture", []).append(tracker[before + marks // n])
        found.setdefault("maximum likelihood, told when the jump was", []).append(best)
    with figure_file(IMAGES / "near_maximum_likelihood.svg", (7.0, 3.8)) as figure:
        axes = figure.subplots()
        for (name, mixes), colour, width in zip(found.items(), (MODEL, OURS, TRUE), (1.6, 2.2, 1.2), strict=True):
            errors = ((np.array(mixes) - mix) ** 2).sum(axis=2).mean(axis=0)
            axes.loglog(marks, errors, color=colour, lw=width, marker=".", label=name)
            print(
                "near_maximum_likelihood:", name, dict(zip(marks.tolist(), np.round(errors, 5).tolist(), strict=True))
            )
        axes.set_xticks(marks, [f"{mark:,}" for mark in marks])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("rows since the jump")
        axes.set_ylabel("mean squared error")
        axes.legend(ncols=1, **ABOVE)


def hindsight():
    """A season of a rare class: the mix as of then, and in hindsight."""
    rng = np.random.default_rng(4)
    share = 0.03 + 0.05 * np.clip(np.sin(np.arange(80) * 2 * np.pi / 52), 0, None)
    holdout = scores(rng, 5000, 0.03, source=0.03)
    n = 1000
    weeks = [scores(rng, n, q, source=0.03)[0] for q in share]
    adapter = baserate.RegressAndReweight().fit(*holdout)
    causal, live = [], baserate.RegressAndReweight(gate=False).fit(*holdout)
    for week in weeks:
        live.step(week)
        causal.append(live.prior_[1])
    mix = baserate.smooth(adapter, np.concatenate(weeks), starts=n * np.arange(len(weeks) + 1))
    with figure_file(IMAGES / "hindsight.svg", (7.5, 3.6)) as figure:
        axes = figure.subplots()
        axes.plot(100 * share, color=TRUE, lw=1.2, label="truth")
        axes.plot(100 * np.array(causal), color=OTHER, lw=1.2, label="as of then")
        axes.plot(100 * mix.prior[:, 1], color=OURS, lw=2, label="in hindsight, with 90 % limits")
        axes.fill_between(range(len(weeks)), 100 * mix.low[:, 1], 100 * mix.high[:, 1], color=OURS, alpha=0.15, lw=0)
        axes.set_ylim(0)
        axes.set_xlabel("week of 1,000 rows")
        axes.set_ylabel("share, %")
        axes.legend(ncols=3, **ABOVE)
    rmse = [100 * np.sqrt(np.mean((np.asarray(path) - share) ** 2)) for path in (causal, mix.prior[:, 1])]
    print("hindsight: root mean squared error in points, as of then and in hindsight:", np.round(rmse, 2))
