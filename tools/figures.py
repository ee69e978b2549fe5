"""Draw the figures of the documentation, from code and data of this repository: `make figures`.

Each function below draws one file of docs/images; name some to draw only those: `python tools/figures.py spam fraud`.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

import baserate
from baserate.marginals import BBSE, MLLS
from baserate.trackers import FLHFTL, FollowTheHistory, LastSighting, LowSwitching
from baserate_lab.bench.figures import figure_file
from baserate_lab.models import outputs

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
TRUE, MODEL, OURS, OTHER = "#222222", "#b35900", "#0b62a4", "#5b7f2b"


def scores(rng, n, share, distance=1.8, source=0.01):
    """Probabilities of a model that is right at the share `source`, and the labels."""
    y = (rng.random(n) < share).astype(int)
    odds = source / (1 - source) * np.exp(distance * (rng.normal(distance * y, 1.0) - distance / 2))
    return np.column_stack([1 / (1 + odds), odds / (1 + odds)]), y


def smoothed(values, width):
    """A moving average."""
    return np.convolve(values, np.ones(width) / width, mode="same") / np.convolve(
        np.ones(len(values)), np.ones(width) / width, mode="same"
    )


def follow(proba, y, holdout, size, costs):
    """Run the default adapter over a stream: class mix by round with its band, and what rounds cost both ways."""
    adapter = baserate.RegressAndReweight().fit(*holdout)
    rows = []
    for start in range(0, len(y) - size + 1, size):
        batch, truth = proba[start : start + size], y[start : start + size]
        step = adapter.step(batch)
        own, ours = (baserate.decide(p, costs=costs) for p in (batch, step.proba))
        low, high = adapter.prior_interval(level=0.9)[1]
        paid = [np.asarray(costs)[truth, decided].sum() for decided in (own, ours)]
        rows.append((truth.mean(), batch[:, 1].mean(), step.prior[1], low, high, *paid))
    return np.array(rows).T, adapter


def story(path, x, found, source, what, saved, axis, width):
    """Two panels: the share of the class, and what was saved so far."""
    truth, _, tracked, low, high, own, ours = found
    with figure_file(path, (8.0, 5.4)) as figure:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
        above.plot(x, 100 * smoothed(truth, width), color=TRUE, lw=1.2, label=f"{what}: what happened")
        above.axhline(100 * source, color=MODEL, ls="--", label="what the model goes on assuming")
        above.fill_between(x, 100 * low, 100 * high, color=OURS, alpha=0.2, lw=0)
        above.plot(x, 100 * tracked, color=OURS, label="what baserate tracked, without labels (90 % band)")
        above.set_ylabel("share, %")
        above.set_ylim(0)
        above.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False)
        below.plot(x, np.cumsum(own - ours), color=OURS)
        below.axhline(0, color="#777777", lw=0.8)
        below.set_ylabel(saved)
        below.set_xlabel(axis)


def spam():
    """The README's picture: real mail in the order in which it came."""
    mails = outputs("spam_assassin", "tfidf")
    found, adapter = follow(
        mails.target_proba, mails.target_y, (mails.holdout_proba, mails.holdout_y), 20, [[0, 1], [1, 0]]
    )
    x = 20 * np.arange(1, found.shape[1] + 1)
    story(IMAGES / "spam.svg", x, found, adapter.source_prior_[1], "spam", "mistakes\navoided", "mails", 15)
    print(f"spam: {found[5].sum():.0f} mistakes of {x[-1]} by the model, {found[6].sum():.0f} with baserate")


def fraud():
    """The picture for one's boss: 90 days of made-up payments, as examples/fraud_scores.py makes them."""
    rng = np.random.default_rng(0)
    day = np.arange(90 * 500) // 500
    proba, y = scores(rng, len(day), np.where(day < 40, 0.01, np.where(day < 70, 0.08, 0.02)))
    found, adapter = follow(proba, y, scores(rng, 15_000, 0.01), 250, [[0, 1], [20, 0]])
    x = np.arange(1, found.shape[1] + 1) / 2
    story(IMAGES / "fraud.svg", x, found, adapter.source_prior_[1], "fraud", "cost saved\n(false alarms)", "days", 6)
    print(f"fraud: cost {found[5].sum():.0f} by the model, {found[6].sum():.0f} with baserate")


def reweighting():
    """The probability that a score stands for, at three class mixes."""
    p = np.linspace(0.0005, 0.9995, 400)
    with figure_file(IMAGES / "reweighting.svg", (6.4, 3.8)) as figure:
        axes = figure.subplots()
        for share, colour in ((0.01, TRUE), (0.08, OURS), (0.3, OTHER)):
            ours = baserate.reweight(np.column_stack([1 - p, p]), 0.01, share)[:, 1]
            axes.plot(100 * p, 100 * ours, color=colour, label=f"{share:.0%} are fraud now")
        axes.set_xlabel("the model says, %")
        axes.set_ylabel("right now, %")
        axes.legend(frameon=False)


def sightings():
    """Estimates of one batch each scatter around the truth; larger batches less."""
    rng = np.random.default_rng(1)
    holdout = scores(rng, 5000, 0.3, source=0.3)
    methods = {"BBSE": (BBSE(clip=False), MODEL), "MLLS": (MLLS(), OURS)}
    with figure_file(IMAGES / "sightings.svg", (7.5, 3.6)) as figure:
        for axes, n in zip(figure.subplots(1, 2, sharey=True), (10, 200), strict=True):
            batches = [scores(rng, n, 0.6, source=0.3)[0] for _ in range(300)]
            for name, (method, colour) in methods.items():
                method.fit(*holdout)
                seen = [100 * method.estimate(batch)[1] for batch in batches]
                axes.hist(seen, bins=np.arange(-40, 161, 8), histtype="step", lw=1.6, color=colour, label=name)
            axes.axvline(60, color=TRUE, lw=1, label="truth")
            axes.set_title(f"batches of {n}")
            axes.set_xlabel("estimated share, %")
        axes.legend(frameon=False)


def _tracked(tracker, batches, marginal):
    path = []
    for batch in batches:
        path.append(100 * tracker.predict()[1])
        tracker.update(marginal.estimate(batch))
    return np.array(path)


def _square(rng, n_rounds=600):
    share = np.where((np.arange(n_rounds) // 200) % 2 == 0, 0.3, 0.7)
    return share, [scores(rng, 10, q, source=0.3)[0] for q in share]


def online_regression():
    """Three trackers on the same noisy estimates."""
    rng = np.random.default_rng(2)
    marginal = BBSE().fit(*scores(rng, 5000, 0.3, source=0.3))
    share, batches = _square(rng)
    drawn = {
        "last batch": (LastSighting(2), "#bbbbbb"),
        "mean of all": (FollowTheHistory(2), MODEL),
        "FLH-FTL": (FLHFTL(2), OURS),
    }
    with figure_file(IMAGES / "online_regression.svg", (7.5, 3.8)) as figure:
        axes = figure.subplots()
        for name, (tracker, colour) in drawn.items():
            axes.plot(_tracked(tracker, batches, marginal), color=colour, label=name, lw=1.5)
        axes.plot(100 * share, color=TRUE, lw=1.2, label="truth")
        axes.set_xlabel("round of 10 samples")
        axes.set_ylabel("share, %")
        axes.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def low_switching():
    """A tracker, and the same behind LPA."""
    rng = np.random.default_rng(2)
    marginal = BBSE().fit(*scores(rng, 5000, 0.3, source=0.3))
    share, batches = _square(rng)
    plain, lazy = FLHFTL(2), LowSwitching(FLHFTL(2))
    with figure_file(IMAGES / "low_switching.svg", (7.5, 3.6)) as figure:
        axes = figure.subplots()
        axes.plot(_tracked(plain, batches, marginal), color=MODEL, lw=1.2, label="FLH-FTL")
        path = _tracked(lazy, batches, marginal)
        axes.step(range(len(path)), path, color=OURS, label="behind LPA", where="post")
        axes.plot(100 * share, color=TRUE, lw=1.2, label="truth")
        axes.set_xlabel("round of 10 samples")
        axes.set_ylabel("share, %")
        axes.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def _adapters(holdout):
    yield "default (likelihood mixture)", baserate.RegressAndReweight(gate=False).fit(*holdout), OURS
    yield "FLH-FTL", baserate.RegressAndReweight(FLHFTL(2), gate=False).fit(*holdout), MODEL


def mixture():
    """A rare class that grows from 1 to 8 %: the default beside FLH-FTL, mean over twenty streams."""
    share = np.where(np.arange(120) < 30, 0.01, 0.08)
    paths = {}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        holdout = scores(rng, 5000, 0.01)
        batches = [scores(rng, 100, q)[0] for q in share]
        for name, adapter, colour in _adapters(holdout):
            paths.setdefault((name, colour), []).append([100 * adapter.step(batch).prior[1] for batch in batches])
    with figure_file(IMAGES / "mixture.svg", (7.5, 3.6)) as figure:
        axes = figure.subplots()
        for (name, colour), rows in paths.items():
            low, high = np.quantile(rows, [0.1, 0.9], axis=0)
            axes.fill_between(range(len(share)), low, high, color=colour, alpha=0.15, lw=0)
            axes.plot(np.mean(rows, axis=0), color=colour, label=name)
        axes.plot(100 * share, color=TRUE, lw=1.2, label="truth")
        axes.set_xlabel("round of 100 samples")
        axes.set_ylabel("share, %")
        axes.legend(frameon=False)


def reaction():
    """Rows until 80 % of a jump is tracked, by how well the model separates the classes."""
    found = {}
    for distance, auc in ((2.5, 0.96), (1.8, 0.90), (1.2, 0.80)):
        for low, high in ((0.01, 0.08), (0.05, 0.4), (0.5, 0.8)):
            waits = []
            for seed in range(12):
                rng = np.random.default_rng(seed)
                holdout = scores(rng, 5000, low, distance, low)
                adapter = baserate.RegressAndReweight().fit(*holdout)
                for _ in range(20):
                    adapter.step(scores(rng, 50, low, distance, low)[0])
                goal, rounds = low + 0.8 * (high - low), 0
                while adapter.prior_[1] < goal and rounds < 400:
                    adapter.step(scores(rng, 50, high, distance, low)[0])
                    rounds += 1
                waits.append(50 * rounds)
            found[auc, low, high] = np.median(waits)
    with figure_file(IMAGES / "reaction.svg", (7.0, 3.6)) as figure:
        axes = figure.subplots()
        jumps = list(dict.fromkeys((low, high) for _, low, high in found))
        for i, (auc, colour) in enumerate(((0.96, OURS), (0.90, OTHER), (0.80, MODEL))):
            heights = [found[auc, low, high] for low, high in jumps]
            bars = axes.bar(np.arange(3) + (i - 1) * 0.27, heights, 0.25, color=colour, label=f"AUC {auc:.2f}")
            axes.bar_label(bars, [f"{height:.0f}" for height in heights])
        axes.set_xticks(range(3), [f"{low:.0%} to {high:.0%}" for low, high in jumps])
        axes.set_ylabel("rows until 80 % of\nthe jump is tracked")
        axes.legend(frameon=False)
    print("reaction:", {key: float(value) for key, value in found.items()})


def trust_signals():
    """Evidence against label shift on two streams."""
    rng = np.random.default_rng(5)

    def noisy(n, share, noise):
        y = (rng.random(n) < share).astype(int)
        odds = np.exp(2.0 * rng.normal(2.0 * y - 1.0, noise))
        return np.column_stack([1 / (1 + odds), odds / (1 + odds)]), y

    holdout = noisy(2000, 0.5, 1.0)
    with figure_file(IMAGES / "trust_signals.svg", (7.5, 3.4)) as figure:
        axes = figure.subplots()
        for noise, name, colour in ((1.0, "only the class mix moves", OURS), (2.0, "the input gets noisy, too", MODEL)):
            adapter, path = baserate.RegressAndReweight().fit(*holdout), []
            for t in range(300):
                adapter.step(noisy(10, 0.8 if t >= 100 else 0.5, noise if t >= 100 else 1.0)[0])
                path.append(max(adapter.assumption_evidence_, 1e-2))
            axes.semilogy(np.minimum(path, 1e5), color=colour, label=name)
        axes.axhline(20, color=TRUE, ls="--", lw=1, label="alarm")
        axes.set_xlabel("round of 10 samples (the change comes at 100)")
        axes.set_ylabel("evidence against\nlabel shift")
        axes.legend(frameon=False)


def few_labels():
    """Errors on two real streams with no, few and some labels."""
    shares = (0.0, 0.02, 0.1)
    with figure_file(IMAGES / "few_labels.svg", (7.0, 3.6)) as figure:
        axes = figure.subplots()
        for i, (data, model, name) in enumerate(
            (("spam_assassin", "tfidf", "mail (label shift)"), ("elec2", "logistic", "electricity (more changes)"))
        ):
            found = outputs(data, model)
            proba, y = found.target_proba[:10_000], found.target_y[:10_000]
            errors = [100 * (proba.argmax(axis=1) != y).mean()]
            for share in shares:
                rng = np.random.default_rng(0)
                adapter = baserate.RegressAndReweight().fit(found.holdout_proba[:1000], found.holdout_y[:1000])
                wrong = 0
                for start in range(0, len(y), 10):
                    truth = y[start : start + 10]
                    told = np.where(rng.random(len(truth)) < share, truth, -1)
                    wrong += (adapter.step(proba[start : start + 10], told).labels != truth).sum()
                errors.append(100 * wrong / len(y))
            bars = axes.bar(np.arange(4) + (i - 0.5) * 0.4, errors, 0.38, color=(OURS, MODEL)[i], label=name)
            axes.bar_label(bars, [f"{error:.1f}" for error in errors])
            print("few_labels:", data, np.round(errors, 1))
        axes.set_xticks(range(4), ["model alone", "baserate,\nno labels", "2 % of labels", "10 % of labels"])
        axes.set_ylabel("wrong, %")
        axes.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))


FIGURES = (
    spam,
    fraud,
    reweighting,
    sightings,
    online_regression,
    low_switching,
    mixture,
    reaction,
    trust_signals,
    few_labels,
)


def main(names: list[str]) -> None:
    """Draw the figures that are named, or all."""
    mpl.rcParams["svg.hashsalt"] = "baserate"
    for draw in FIGURES:
        if not names or draw.__name__ in names:
            draw()


if __name__ == "__main__":
    main(sys.argv[1:])
