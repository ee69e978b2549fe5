"""Trust without labels, and what labels choose."""

import numpy as np

import baserate
from baserate.trust.portfolio.candidates import CANDIDATES
from baserate_lab.bench.figures import figure_file

from .looks import ABOVE, FAINT, IMAGES, MODEL, OTHER, OURS, TRUE


def noisy(rng, n, share, noise=1.0, bias=0.0):
    """Outputs of a model whose input may get noisy, and which may become biased; and the labels."""
    y = (rng.random(n) < share).astype(int)
    odds = np.exp(2.0 * rng.normal(2.0 * y - 1.0, noise) + bias)
    return np.column_stack([1 / (1 + odds), odds / (1 + odds)]), y


def trust_signals():
    """Evidence against label shift on two streams."""
    rng = np.random.default_rng(5)
    holdout = noisy(rng, 2000, 0.5)
    with figure_file(IMAGES / "trust_signals.svg", (7.5, 3.4)) as figure:
        axes = figure.subplots()
        for noise, name, colour in ((1.0, "only the class mix moves", OURS), (2.0, "the input gets noisy, too", MODEL)):
            adapter, path = baserate.RegressAndReweight().fit(*holdout), []
            for t in range(300):
                adapter.step(noisy(rng, 10, 0.8 if t >= 100 else 0.5, noise if t >= 100 else 1.0)[0])
                path.append(max(adapter.assumption_evidence_, 1e-2))
            axes.semilogy(np.minimum(path, 1e5), color=colour, label=name)
            print(f"trust_signals: {name}: largest {max(path):.3g}, first alarm", int(np.argmax(np.array(path) > 20)))
        axes.axhline(20, color=TRUE, ls="--", lw=1, label="alarm")
        axes.set_xlabel("round of 10 rows (the change comes at 100)")
        axes.set_ylabel("evidence against\nlabel shift")
        axes.legend(ncols=3, **ABOVE)


def accuracy():
    """Accuracy estimated without labels: right while only the mix moves, in doubt once the input changes."""
    rng = np.random.default_rng(6)
    adapter, rows = baserate.RegressAndReweight().fit(*noisy(rng, 2000, 0.5)), []
    right = np.zeros(0)
    for t in range(700):
        proba, y = noisy(rng, 50, 0.5 if t < 150 else 0.9, 2.0 if t >= 400 else 1.0)
        right = np.append(right, adapter.step(proba).labels == y)[-5000:]
        rows.append((right.mean(), *adapter.estimated_accuracy(), adapter.assumption_alarm_))
    truth, value, low, high, alarm = np.array(rows).T
    x = np.arange(len(rows))
    with figure_file(IMAGES / "accuracy.svg", (7.5, 3.6)) as figure:
        axes = figure.subplots()
        axes.plot(100 * truth, color=TRUE, lw=1.6, label="true accuracy of the last 5,000 rows")
        axes.plot(100 * value, color=OURS, lw=1.6, label="estimated without labels, 90 % limits")
        axes.fill_between(x, 100 * low, 100 * high, where=alarm == 0, color=OURS, alpha=0.15, lw=0)
        bottom = 60
        axes.fill_between(
            x, bottom, 100, where=alarm > 0, color=MODEL, alpha=0.12, lw=0, label="alarm: do not believe it"
        )
        axes.set_ylim(bottom, 100)
        axes.set_xlabel("round of 50 rows (the mix jumps at 150, the input gets noisy at 400)")
        axes.set_ylabel("right, %")
        axes.legend(ncols=2, **ABOVE)
    print(
        "accuracy: first alarm",
        int(np.argmax(alarm)),
        "true",
        truth[[390, 699]].round(3),
        "said",
        value[[390, 699]].round(3),
    )


def labels_choose():
    """Weights of the corrections while one row in ten has a label: the model becomes biased at round 200."""
    rng = np.random.default_rng(0)
    adapter = baserate.RegressAndReweight().fit(*noisy(rng, 2000, 0.5))
    weights, wrong = [], []
    for t in range(500):
        proba, y = noisy(rng, 20, 0.8, bias=3.0 if t >= 200 else 0.0)
        step = adapter.step(proba, np.where(rng.random(20) < 0.1, y, -1))
        weights.append(adapter.get_state()["_correction"].portfolio_.weights_.copy())
        wrong.append(((proba.argmax(axis=1) != y).mean(), (step.labels != y).mean()))
    groups = {
        "default": (["default"], OURS),
        "model alone": (["model alone"], FAINT),
        "tracked, discounted, remapped": (["tracked", "discounted", "remapped"], OTHER),
        "recalibrated by labels": ([name for name in CANDIDATES if "recalibrated" in name], MODEL),
    }
    areas = [sum(np.array(weights)[:, CANDIDATES.index(name)] for name in names) for names, _ in groups.values()]
    with figure_file(IMAGES / "labels_choose.svg", (7.5, 3.6)) as figure:
        axes = figure.subplots()
        colours = [colour for _, colour in groups.values()]
        axes.stackplot(range(500), 100 * np.array(areas), labels=list(groups), colors=colours, alpha=0.85)
        axes.set_ylim(0, 100)
        axes.set_xlim(0, 499)
        axes.set_xlabel("round of 20 rows, two of them with a label (the model becomes biased at 200)")
        axes.set_ylabel("weight, %")
        axes.legend(ncols=2, **ABOVE)
    late = np.mean(wrong[250:], axis=0)
    print(f"labels_choose: wrong after round 250: {late[0]:.1%} by the model alone, {late[1]:.1%} with labels")
