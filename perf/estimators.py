"""Measurements of the marginal estimators; each yields rows of the table."""

import cvxpy as cp
import numpy as np
from baselines import ConicRLLS, plain_em
from measurements import K, Row, agree, model_outputs
from timing import fastest, seconds

from baserate.marginals import MLLS, RLLS


def _shifted(rng, n_batches):
    """A holdout, and batches of ten from another class mix."""
    holdout = model_outputs(rng, 5_000)
    mix = rng.dirichlet(np.ones(K))
    return holdout, [model_outputs(rng, 10, mix)[0] for _ in range(n_batches)]


def mlls():
    """MLLS through its public method against a plain loop of EM in numpy that stops as the published one does."""
    (proba, y), batches = _shifted(np.random.default_rng(0), 50)
    base = proba.mean(axis=0)
    ours, published = MLLS().fit(proba, y), MLLS(tol=1e-6, accelerate=False, max_iter=100_000).fit(proba, y)
    for batch in batches:
        loop = plain_em(batch, base, 1e-6)
        agree("EM, ours and numpy, to the same step", published.estimate(batch), loop)
        rows = batch / base
        higher = np.log(rows @ ours.estimate(batch)).mean() - np.log(rows @ loop).mean()
        agree("the likelihood that MLLS reaches, and at least that of the loop", min(higher, 0.0), 0.0)
    for batch in batches[:5]:  # run longer, the loop ends at the same point
        agree("MLLS and EM run to its end", ours.estimate(batch), plain_em(batch, base, 1e-13), tolerance=1e-6)
    times = fastest(
        lambda: seconds(lambda: [ours.estimate(batch) for batch in batches], 10) / len(batches),
        lambda: seconds(lambda: [published.estimate(batch) for batch in batches], 10) / len(batches),
        lambda: seconds(lambda: [plain_em(batch, base, 1e-6) for batch in batches]) / len(batches),
        repeats=15,
    )
    note = "a mean over 50 batches; ours goes on to the maximum, the loop stops at a change of 1e-6"
    yield Row("MLLS, 10 x 10", "numpy, plain EM", times[0], times[2], "faster", bound=20, note=note)
    yield Row("MLLS without acceleration, 10 x 10", "numpy, plain EM", times[1], times[2], "faster")


def rlls():
    """RLLS through its public method against a conic solver."""
    (proba, y), batches = _shifted(np.random.default_rng(0), 10)
    ours = RLLS().fit(proba, y)
    conic = ConicRLLS(proba, y, ours.rho_)
    for batch in batches:
        # An interior-point solution is close in value, and less close in position.
        theirs, q = conic.estimate(batch), ours.estimate(batch)
        agree("RLLS and the conic solver", q, theirs, tolerance=1e-4)
    times = fastest(
        lambda: seconds(lambda: [ours.estimate(batch) for batch in batches], 50) / len(batches),
        lambda: seconds(lambda: [conic.estimate(batch) for batch in batches]) / len(batches),
        repeats=10,
    )
    solver = conic.problem.solver_stats.solver_name
    note = f"cvxpy {cp.__version__} with {solver}, its default; the problem is built once, with a parameter"
    yield Row("RLLS, 10 x 10", "cvxpy", *times, "faster", bound=20, note=note)
