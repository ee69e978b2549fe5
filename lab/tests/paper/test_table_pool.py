"""What is said of bounded pools, asked of results that are made up."""

from .asking import holds, result


def test_pool():
    def asked(gap):
        def give(cell):
            bounded = "pool" in cell.method
            if bounded and gap is None:
                return None
            return result(0.0, end_error=5.0 + cell.seed + (gap if bounded else 0.0))

        return holds("table-pool", give)

    assert (asked(1.0), asked(1.01), asked(-3.0), asked(None)) == ([True], [False], [True], [None])
