"""What the paper says of the size of the holdout, asked of results that are made up."""

from .asking import holds, result


def holdout(flh, uogd):
    ends = {"FLH-FTL": flh, "UOGD": uogd}

    def give(cell):
        values = ends.get(cell.method, (1.0, 1.0))
        error = values[0] if cell.holdout == 100 else values[1] if cell.holdout == 10_000 else 50.0
        return None if error is None else result(error + cell.seed)

    return holds("fig-holdout", give)


def test_holdout():
    assert holdout((10.0, 9.1), (13.0, 10.0)) == [True, True]
    assert holdout((9.1, 10.0), (13.0, 10.0)) == [True, True]
    assert holdout((10.0, 8.9), (13.0, 10.0)) == [False, True]
    assert holdout((8.9, 10.0), (13.0, 10.0)) == [False, True]
    assert holdout((10.0, 9.1), (10.0, 13.0)) == [True, False]
    assert holdout((10.0, 10.0), (10.0, 10.0)) == [False, False]
    assert holdout((10.0, None), (13.0, 10.0)) == [None, None]
    assert holdout((10.0, 9.1), (None, 10.0)) == [None, None]
