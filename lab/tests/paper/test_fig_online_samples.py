"""What the paper says of the size of rounds, asked of results that are made up."""

from .asking import holds, result


def samples(few, many):
    methods = ("BBSE", "FLH-FTL", "UOGD")

    def give(cell):
        errors = {1: few, 300: many}.get(cell.batch_size, (99.0, 0.0, 0.0))
        error = dict(zip(methods, errors, strict=True)).get(cell.method, 0.0)
        return None if error is None else result(error)

    return holds("fig-online-samples", give)[0]


def test_samples():
    assert samples((8.0, 5.0, 6.0), (5.2, 5.0, 6.0)) is True
    assert samples((5.6, 5.0, 6.0), (5.4, 5.0, 5.5)) is True
    assert samples((5.4, 5.0, 6.0), (5.2, 5.0, 6.0)) is False  # not far behind with few
    assert samples((8.0, 5.0, 6.0), (5.6, 5.0, 6.0)) is False  # not within half a point with many
    assert samples((8.0, 5.0, 6.0), (5.2, 5.0, 5.1)) is False  # not below UOGD
    assert samples((8.0, None, 6.0), (5.2, 5.0, 6.0)) is None
