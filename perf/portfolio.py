"""Measurement of what the portfolio of corrections adds to a step."""

import numpy as np
from baselines import multiply_and_normalise
from measurements import K, Row, model_outputs
from timing import fastest, own_seconds

from baserate import RegressAndReweight

BOUNDS = {10: 4.0, 100: 2.0, 1_000: 2.0}


def portfolio():
    """Time that a round spends on the portfolio: learning, and what prediction takes longer than without it."""
    rng = np.random.default_rng(0)
    held, ratio = model_outputs(rng, 5_000), rng.random(K)
    for n, bound in BOUNDS.items():
        batch, y = model_outputs(rng, n)
        told = np.where(np.arange(n) % 10 == 0, y, -1)
        for labels, when in ((None, "no labels"), (told, "a tenth labelled")):
            gated, plain = (RegressAndReweight(calibrator=None, gate=gate).fit(*held) for gate in (True, False))
            for adapter in (gated, plain):
                for _ in range(20):
                    adapter.step(batch, labels)

            def rounds(adapter, labels=labels, batch=batch, number=2_000 // n + 20):
                correction = adapter._correction

                def one():
                    correction.apply(batch, batch, correction.now())
                    correction.take_in(batch, batch, labels)
                    correction.follow(correction.prior_)

                return own_seconds(one, number)

            def bare(batch=batch):
                return own_seconds(lambda: multiply_and_normalise(batch, ratio), 200)

            with_it, without = fastest(
                lambda rounds=rounds, gated=gated: rounds(gated),
                lambda rounds=rounds, plain=plain: rounds(plain),
                repeats=50,
            )
            _, baseline = fastest(bare, bare, repeats=50)
            what = f"step({n:,} x 10): the portfolio, {when}"
            yield Row(what, "multiply, normalise", max(with_it - without, 0.0), baseline, "cheap", bound)
