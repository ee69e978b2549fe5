"""What the paper says of the size of the holdout, asked of results that are made up."""

from .asking import claims, holds, result


def holdout(flh, uogd):
    ends = {"FLH-FTL": flh, "UOGD": uogd}

    def give(cell):
        values = ends.get(cell.method, (1.0, 1.0))
        error = values[0] if cell.holdout == 100 else values[1] if cell.holdout == 10_000 else 50.0
        return None if error is None else result(error + cell.seed)

    return holds("fig-holdout", give)[:2]


def test_holdout():
    assert holdout((10.0, 9.1), (13.0, 10.0)) == [True, True]
    assert holdout((9.1, 10.0), (13.0, 10.0)) == [True, True]
    assert holdout((10.0, 8.9), (13.0, 10.0)) == [False, True]
    assert holdout((8.9, 10.0), (13.0, 10.0)) == [False, True]
    assert holdout((10.0, 9.1), (10.0, 13.0)) == [True, False]
    assert holdout((10.0, 10.0), (10.0, 10.0)) == [False, False]
    assert holdout((10.0, None), (13.0, 10.0)) == [None, None]
    assert holdout((10.0, 9.1), (None, 10.0)) == [None, None]


def ahead(changed=None, mse=None):
    """FLH-FTL has 5 % and the others 6 %, but for some; the same for squared errors."""

    def give(cell):
        error = 5.0 if cell.method in ("FLH-FTL", "Oracle", "OFC") else 6.0
        mix = {"FLH-FTL": 0.1, "UOGD": None, "ATLAS": None}.get(cell.method, 0.2)
        key = cell.method, cell.holdout
        if (changed or {}).get(key, error) is None:
            return None
        return result((changed or {}).get(key, error), (mse or {}).get(key, mix))

    return claims("fig-holdout", give)[2:]


def test_ahead_throughout():
    assert [c.holds for c in ahead()] == [True, True]
    found = ahead({("FTFWH", 500): 4.75})
    assert [c.holds for c in found] == [False, True]
    assert found[0].evidence == "FTFWH is ahead with 500 by 0.250"
    assert [c.holds for c in ahead({("ATLAS", 100): 5.0})] == [False, True]  # a tie is not ahead
    assert [c.holds for c in ahead({("OFC", 100): 1.0, ("Base", 100): 1.0})] == [True, True]  # no alternatives
    assert [c.holds for c in ahead(mse={("FTH", 5000): 0.05})] == [True, False]
    assert [c.holds for c in ahead({("ROGD", 200): None})] == [None, True]
    assert [c.holds for c in ahead({("FLH-FTL", 200): None})] == [None, None]
