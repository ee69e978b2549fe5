"""The pictures of *Start here* and of the README: what it gains, how fast it reacts, what a few labels add."""

import numpy as np

import baserate
from baserate_lab.bench.figures import figure_file
from baserate_lab.models import outputs

from .looks import ABOVE, IMAGES, MODEL, OTHER, OURS, TRUE, moving_mean, scores


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


def losses(axes, x, own, ours, saved):
    """Draw what has been lost so far without and with baserate, and name the difference."""
    alone, adapted = np.cumsum(own), np.cumsum(ours)
    axes.plot(x, alone, color=MODEL)
    axes.plot(x, adapted, color=OURS)
    axes.fill_between(x, adapted, alone, color=OURS, alpha=0.15, lw=0)
    place = {"ha": "right", "va": "center", "transform": axes.transAxes, "fontsize": "large"}
    axes.text(0.68, 0.83, f"the model alone: {alone[-1]:,.0f}", color=MODEL, **place)
    axes.text(0.99, 0.12, f"with baserate: {adapted[-1]:,.0f}", color=OURS, **place)
    axes.set_ylabel(saved)
    axes.set_ylim(0, 1.12 * alone[-1])


def spam():
    """The README's picture: real mail in the order in which it came."""
    mails = outputs("spam_assassin", "tfidf")
    found, adapter = follow(
        mails.target_proba, mails.target_y, (mails.holdout_proba, mails.holdout_y), 20, [[0, 1], [1, 0]]
    )
    truth, _, tracked, _, _, own, ours = found
    x, width = 20 * np.arange(1, len(truth) + 1), 15
    with figure_file(IMAGES / "spam.svg", (8.0, 5.6)) as figure:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
        above.plot(x, 100 * moving_mean(truth, width), color=TRUE, lw=2.2, label="what really came")
        above.axhline(100 * adapter.source_prior_[1], color=MODEL, ls="--", lw=2, label="what the model believes")
        above.plot(x, 100 * tracked, color=OURS, lw=0.8, alpha=0.3)
        above.plot(x, 100 * moving_mean(tracked, width), color=OURS, lw=2.2, label="what baserate tracks")
        above.set_ylabel("share of spam, %")
        above.set_ylim(0, 100)
        above.legend(ncols=3, columnspacing=1.2, handlelength=1.5, **ABOVE)
        losses(below, x, own, ours, "mistakes so far")
        below.set_xlabel("mails, in the order in which they came")
    print(f"spam: {own.sum():.0f} mistakes of {x[-1]} by the model, {ours.sum():.0f} with baserate")


def fraud():
    """The picture for one's boss: 90 days of made-up payments, as examples/fraud_scores.py makes them."""
    rng = np.random.default_rng(0)
    day = np.arange(90 * 500) // 500
    proba, y = scores(rng, len(day), np.where(day < 40, 0.01, np.where(day < 70, 0.08, 0.02)))
    found, adapter = follow(proba, y, scores(rng, 15_000, 0.01), 250, [[0, 1], [20, 0]])
    truth, _, tracked, low, high, own, ours = found
    x = np.arange(1, len(truth) + 1) / 2
    with figure_file(IMAGES / "fraud.svg", (8.0, 5.6)) as figure:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
        above.plot(x, 100 * moving_mean(truth, 6), color=TRUE, lw=1.6, label="what really came")
        above.axhline(100 * adapter.source_prior_[1], color=MODEL, ls="--", lw=2, label="what the model believes")
        above.plot(x, 100 * tracked, color=OURS, lw=2.2, label="what baserate tracks (90 % band)")
        above.fill_between(x, 100 * low, 100 * high, color=OURS, alpha=0.15, lw=0)
        above.set_ylabel("share of fraud, %")
        above.set_ylim(0, 16)
        above.legend(ncols=3, columnspacing=1.2, handlelength=1.5, **ABOVE)
        losses(below, x, own, ours, "cost so far\n(a false alarm is 1)")
        below.set_xlabel("days")
    print(f"fraud: cost {own.sum():.0f} by the model, {ours.sum():.0f} with baserate")
    print(f"fraud: days until 80 % of the rise is tracked: {x[(tracked > 0.066) & (x > 40)][0] - 40}")


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
            axes.bar_label(bars, [f"{height:,.0f}" for height in heights])
        axes.set_xticks(range(3), [f"from {low:.0%} to {high:.0%}" for low, high in jumps])
        axes.set_ylabel("rows until 80 % of\nthe jump is tracked")
        axes.legend(frameon=False)
    print("reaction:", {key: float(value) for key, value in found.items()})


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
        axes.set_ylim(0, 33)
        axes.legend(ncols=2, **ABOVE)
