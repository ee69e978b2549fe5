"""What the paper says of the split of the source, asked of results that are made up."""

from .asking import claims, result


def split(best, missing=None):
    def give(cell):
        if cell.train_share == missing and cell.method == "FLH-FTL":
            return None
        return result(5.0 + abs(cell.train_share - best) if cell.method == "FLH-FTL" else cell.train_share)

    return claims("fig-split", give)[0]


def test_split():
    assert split(0.9).holds is True
    assert split(0.7).holds is False
    assert split(0.2).holds is False
    assert split(0.9, missing=0.35).holds is None
    assert "5.70 with 20 % for training" in split(0.9).evidence
