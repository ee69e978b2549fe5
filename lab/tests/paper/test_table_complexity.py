"""What the paper says of the growth of time and memory, asked of results that are made up."""

from .asking import claims, result


def growing(power_of_time, power_of_memory, until=None):
    def give(cell):
        if cell.n_rounds == until:
            return None
        n = max(cell.n_rounds, 4096)  # short runs are all overhead
        return result(seconds=1e-6 * n**power_of_time, bytes=round(1e3 * n**power_of_memory))

    return {claim.text: claim.holds for claim in claims("table-complexity", give)}


def test_complexity():
    powers = {"T^2": 2.0, "T log T": 1.0, "T": 1.0, "1": 0.0}
    for time, memory in ((0.1, 0.1), (1.1, 1.1), (1.3, 0.3), (2.1, 1.3), (2.3, 2.3)):
        found = growing(time, memory)
        assert len(found) == 6
        for text, held in found.items():
            measured = time if "time grows" in text else memory
            said = text.rpartition("the paper's ")[2].rstrip(".")
            assert held is (measured < powers[said] + 0.2), (text, measured)
    assert set(growing(1.0, 1.0, until=16384).values()) == {None}
