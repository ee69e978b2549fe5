"""What the paper says of the time that learners take, asked of results that are made up."""

from .asking import holds, result


def test_time():
    def asked(fast, slow, **steps):
        given = {"CT-RS/FLH-FTL": fast, "w-ERM": slow}
        return holds(
            "table-time",
            lambda c: (
                result(seconds=given[c.method], steps=steps.get(c.method[0]))
                if given[c.method] and c.dataset == "mnist"
                else None
            ),
        )

    assert asked(10.0, 50.1) == [None, None, True, None]
    assert asked(10.0, 49.9) == [None, None, False, None]
    assert asked(50.0, 10.0) == [None, None, False, None]
    assert asked(10.0, None) == [None, None, None, None]
    assert asked(10.0, 50.1, C=10, w=30) == [None, None, True, True]
    assert asked(10.0, 50.1, C=10, w=29) == [None, None, True, False]
