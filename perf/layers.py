"""Measurements of the methods that update a prior or a last layer; each yields rows of the table."""

import copy

import numpy as np
from baselines import loop_over_classes_of_heads, loop_over_classes_of_priors
from measurements import K, Row, agree, model_outputs
from timing import fastest, seconds

from baserate.adapters import ATLAS, ROGD, UOGD

N, D, T = 1_000, 512, 1_000


def layers():
    """One round of UOGD and of ATLAS against a loop over classes, and against each other."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(K), N // K)
    centres = rng.standard_normal((K, D)) / np.sqrt(D)
    X = centres[y] * 3 + rng.standard_normal((N, D)) / np.sqrt(D)
    batch = centres[rng.integers(3, size=10)] * 3 + rng.standard_normal((10, D)) / np.sqrt(D)
    uogd = UOGD(centres * 3, horizon=T).fit(X, y)
    atlas = ATLAS(centres * 3, horizon=T).fit(X, y)
    times = []
    for adapter in (uogd, atlas):
        subject = copy.deepcopy(adapter)

        def loop(adapter=adapter):
            return loop_over_classes_of_heads(adapter, batch, X, y)

        subject.update(batch)
        agree(type(adapter).__name__, subject._heads, loop())
        times.append(
            (
                lambda subject=subject: seconds(lambda: subject.step(batch), 5),
                lambda loop=loop: seconds(loop, 2),
            )
        )
    (one, one_loop), (many, many_loop) = times
    best = fastest(one, one_loop, many, many_loop, repeats=30)
    size = f"{N:,} x {D}"
    m = len(atlas.weights_)
    note = "numpy, a softmax and an outer sum for each class; for ATLAS, for each class of each copy"
    yield Row(f"UOGD, holdout {size}", "a loop over classes", best[0], best[1], "faster", note=note)
    yield Row(f"ATLAS, {m} copies, the same", "the same for each copy", best[2], best[3], "faster", note=note)
    yield Row(f"ATLAS, {m} copies, the same", "UOGD, one copy", best[2], best[0], "cheap", bound=3)


def rogd():
    """One round of ROGD against a loop over pairs of classes."""
    rng = np.random.default_rng(0)
    proba, y = model_outputs(rng, N)
    batch = model_outputs(rng, 10)[0]
    adapter = ROGD(calibrator=None, horizon=T).fit(proba, y)
    source = adapter.source_prior_
    subject = copy.deepcopy(adapter)
    subject.update(batch)

    def loop():
        return loop_over_classes_of_priors(adapter, batch, proba, y, source, T)

    agree("ROGD", subject.prior_, loop())
    times = fastest(lambda: seconds(lambda: subject.step(batch), 20), lambda: seconds(loop, 5), repeats=30)
    yield Row(f"ROGD, holdout {N:,} x {K}", "a loop over pairs", *times, "faster")
