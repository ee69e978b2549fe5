"""What is said of fewer trainings, asked of results that are made up."""

from .asking import claims, result


def test_lazy():
    """Three seeds whose gaps are the mean and 0.2 to either side."""

    def asked(gap, calls):
        def give(cell):
            if cell.method == "TrainByWeights":
                return result(8.0 + cell.seed, calls=200)
            if cell.method == "Lazy":
                return result(8.0 + cell.seed + gap + 0.2 * (cell.seed - 1), calls=calls) if gap is not None else None
            return result(99.0, calls=500)  # the literal one is shown, not judged

        return claims("table-lazy", give)

    assert [claim.holds for claim in asked(0.5, 30)] == [True, True]
    assert [claim.holds for claim in asked(0.51, 30)] == [False, False]
    assert [claim.holds for claim in asked(-2.0, 31)] == [False, False]
    assert [claim.holds for claim in asked(None, 1)] == [None, None]
    assert asked(0.25, 20)[0].evidence == "+0.25 ± 0.12 points with 10.0% of the trainings"
    assert [claim.text[:4] for claim in asked(0.0, 1)] == ["ber:", "mon:"]
