"""What the paper says of estimators of the class mix, asked of results that are made up."""

import math

from .asking import claims, holds, result


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
