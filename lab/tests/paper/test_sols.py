"""What the paper says of the order of learners, asked of results that are made up."""

from .asking import SEEDS, claims, result

LEARNERS = ("CT", "CT-RS/FTH", "CT-RS/FLH-FTL", "w-ERM")


def learners(errors, seeds=SEEDS, noise=0.0, noisy="CT", name="table-sols-mnist"):
    """Errors of the four; seeds differ by the same in all, but for the noise of one."""
    given = dict(zip(LEARNERS, errors, strict=True))

    def give(cell):
        if given[cell.method] is None:
            return None
        return result(given[cell.method] + cell.seed + (noise * (cell.seed - 1) if cell.method == noisy else 0.0))

    return claims(name, give, seeds)[0]


def test_learners():
    found = learners((4.0, 3.0, 2.0, 1.0))
    assert found.holds is True
    assert "CT - CT-RS/FTH: 1.00 ± 0.00;" in found.evidence
    for swapped in ((3.0, 4.0, 2.0, 1.0), (4.0, 2.0, 3.0, 1.0), (4.0, 3.0, 1.0, 2.0), (4.0, 3.0, 2.0, 2.0)):
        assert learners(swapped).holds is False
    assert "CT-RS/FLH-FTL - w-ERM: 0.00 ± 0.00 (not separated)" in learners((4.0, 3.0, 2.0, 2.0)).evidence
    for i in range(4):
        some = [None if j == i else 4.0 - j for j in range(4)]
        assert (learners(some).holds, learners(some).evidence) == (None, "not run")


def test_an_order_of_learners_that_chance_may_have_made_is_neither():
    # The standard error of -1, 0, 1 is 1 / sqrt(3), twice that is 1.1547.
    for ahead, holds_ in ((1.16, True), (1.15, None), (0.01, None), (-0.01, False), (-1.16, False)):
        found = learners((3.0 + ahead, 3.0, 1.0, 0.0), noise=1.0)
        assert found.holds is holds_, ahead
        assert ("(not separated)" in found.evidence) is (abs(ahead) < 1.1547)
        assert learners((9.0, 6.0, 3.0 + ahead, 3.0), noise=1.0, noisy="w-ERM").holds is holds_, ahead
    # One pair that is the wrong way round is enough, whatever the others are.
    assert learners((3.5, 3.0, 1.0, 2.0), noise=1.0).holds is False


def test_learners_of_one_seed():
    for errors in ((4.0, 3.0, 2.0, 1.0), (1.0, 2.0, 3.0, 4.0)):
        for name in ("table-sols-mnist", "table-sols-cifar"):
            found = learners(errors, 1, name=name)
            assert (found.holds, found.evidence) == (None, "one seed says nothing about an order")
        assert learners(errors, seeds=2).holds is (errors[0] > errors[1])
