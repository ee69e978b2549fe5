"""Re-weighting, and estimates of the class mix of one batch."""

import numpy as np

import baserate
from baserate.marginals import BBSE, MLLS
from baserate_lab.bench.figures import figure_file

from .looks import ABOVE, IMAGES, MODEL, OTHER, OURS, TRUE, scores


def reweighting():
    """The probability that a score stands for at three class mixes, and what a wrong mix costs."""
    p = np.linspace(0.0005, 0.9995, 400)
    with figure_file(IMAGES / "reweighting.svg", (8.6, 3.8)) as figure:
        left, right = figure.subplots(1, 2)
        for share, colour in ((0.01, TRUE), (0.08, OURS), (0.3, OTHER)):
            ours = baserate.reweight(np.column_stack([1 - p, p]), 0.01, share)[:, 1]
            left.plot(100 * p, 100 * ours, color=colour, label=f"{share:.0%} are fraud now")
        left.set_xlabel("the model says, %")
        left.set_ylabel("the right probability, %")
        left.legend(frameon=False)
        proba, y = scores(np.random.default_rng(0), 1_000_000, 0.08)
        mixes = np.geomspace(0.01, 0.4, 25)
        costs = np.array([_cost(baserate.reweight(proba, 0.01, mix), y) for mix in mixes])
        right.plot(100 * mixes, costs, color=OURS, marker=".")
        right.axvline(8, color=TRUE, lw=1)
        right.annotate("the true mix", (8, costs.max()), (5, -4), textcoords="offset points", va="top")
        right.set_xscale("log")
        right.set_xticks([1, 2, 4, 8, 16, 32], ["1", "2", "4", "8", "16", "32"])
        right.set_xticks([], minor=True)
        right.set_ylim(0)
        right.set_xlabel("mix that predictions are re-weighted to, %")
        right.set_ylabel("cost per 1,000 rows")
    at = {share: round(_cost(baserate.reweight(proba, 0.01, share), y)) for share in (0.01, 0.06, 0.08, 0.1)}
    print("reweighting: cost at", at)


def _cost(proba, y):
    costs = np.array([[0, 1], [20, 0]])
    return 1000 * costs[y, baserate.decide(proba, costs=costs)].mean()


def calibration():
    """Re-weighting a model that is calibrated, too sure, or not sure enough: cost with and without calibration."""
    models = {"not sure enough": 0.6, "calibrated": 1.0, "too sure": 1.5}
    found = []
    for boast in models.values():
        rng = np.random.default_rng(0)
        holdout = scores(rng, 10_000, 0.01, boast=boast)
        proba, y = scores(rng, 60_000, 0.08, boast=boast)
        found.append([_cost(proba, y)])
        for calibrator in (None, "auto"):
            adapter = baserate.RegressAndReweight(calibrator=calibrator, gate=False).fit(*holdout)
            ours = np.concatenate([adapter.step(proba[i : i + 200]).proba for i in range(0, len(y), 200)])
            found[-1].append(_cost(ours, y))
    with figure_file(IMAGES / "calibration.svg", (7.0, 3.6)) as figure:
        axes = figure.subplots()
        names = ("model alone", "re-weighted as it is", "calibrated, then re-weighted")
        for i, (name, colour) in enumerate(zip(names, (MODEL, OTHER, OURS), strict=True)):
            bars = axes.bar(np.arange(3) + (i - 1) * 0.27, [row[i] for row in found], 0.25, color=colour, label=name)
            axes.bar_label(bars, fmt="%.0f")
        axes.set_xticks(range(3), [f"a model that is\n{name}" for name in models])
        axes.set_ylabel("cost per 1,000 rows")
        axes.legend(ncols=3, **ABOVE)
    print("calibration:", np.round(found))


def sightings():
    """Estimates of one batch scatter around the truth; of larger batches less, and by maximum likelihood least."""
    rng = np.random.default_rng(1)
    holdout = scores(rng, 5000, 0.3, source=0.3)
    with figure_file(IMAGES / "sightings.svg", (9.6, 3.6)) as figure:
        axes = figure.subplots(1, 3)
        for panel, n in zip(axes, (10, 200), strict=False):
            batches = [scores(rng, n, 0.6, source=0.3)[0] for _ in range(300)]
            for name, (method, colour) in _estimators(*holdout).items():
                seen = [100 * method.estimate(batch)[1] for batch in batches]
                panel.hist(seen, bins=np.arange(-44, 165, 8), histtype="step", lw=1.6, color=colour, label=name)
            panel.axvline(60, color=TRUE, lw=1, label="truth")
            panel.set_title(f"two classes, batches of {n}")
            panel.set_xlabel("estimated share, %")
        axes[0].set_ylabel("batches")
        axes[0].legend(frameon=False)
        sizes = np.array([10, 30, 100, 300, 1000])
        for name, (method, colour) in _estimators(*_ten_classes(rng, 5000, np.full(10, 0.1))).items():
            errors = [_rmse(method, n) for n in sizes]
            axes[2].loglog(sizes, errors, color=colour, marker=".", label=name)
            print("sightings:", name, dict(zip(sizes.tolist(), np.round(errors, 1).tolist(), strict=True)))
        axes[2].set_title("ten classes that overlap")
        axes[2].set_ylabel("error of a share, points")
        axes[2].set_xlabel("rows in the batch")
        axes[2].set_xticks(sizes, [f"{n:,}" for n in sizes])
        axes[2].set_yticks([3, 10, 30], ["3", "10", "30"])
        axes[2].minorticks_off()


def _estimators(proba, y):
    return {"BBSE": (BBSE(clip=False).fit(proba, y), MODEL), "MLLS": (MLLS().fit(proba, y), OURS)}


def _ten_classes(rng, n, mix, distance=1.8):
    """Exact probabilities, at even shares, of ten Gaussian classes as far from each other."""
    y = rng.choice(10, size=n, p=mix)
    logits = distance * (rng.normal(size=(n, 10)) + distance * np.eye(10)[y])
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True), y


def _rmse(method, n):
    """Root mean squared error of a share, in points, over 200 batches of mixes drawn at random."""
    rng = np.random.default_rng(n)
    mixes = rng.dirichlet(np.ones(10), size=200)
    seen = np.array([method.estimate(_ten_classes(rng, n, mix)[0]) for mix in mixes])
    return 100 * float(np.sqrt(np.mean((seen - mixes) ** 2)))
