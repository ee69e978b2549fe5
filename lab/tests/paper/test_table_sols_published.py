"""Claims about the published protocol of learners, asked of made-up results."""

from .asking import claims, result

NAME = "table-sols-published"


def asked(levels, seeds=3):
    """Errors of CT-RS with FLH-FTL by rounds asked for and samples set apart."""

    def give(cell):
        level = levels[cell.n_rounds, cell.holdout]
        return None if level is None else result(level + 0.1 * cell.seed)

    (claim,) = claims(NAME, give, seeds)
    return claim


def test_the_level():
    levels = {(200, 0): 7.5, (200, 500): 6.5, (1000, 0): 7.0, (1000, 500): 5.3}
    found = asked(levels)
    assert found.holds is True
    assert found.evidence == (
        "5.40 %; against the text's protocol (7.60 %): validation apart -1.00 ± 0.00, longer streams -0.50 ± 0.00, "
        "both -2.20 ± 0.00"
    )
    assert asked({**levels, (1000, 500): 5.5}).holds is False
    assert asked({**levels, (200, 500): None}).holds is None
    assert asked(levels, seeds=1).holds is None
