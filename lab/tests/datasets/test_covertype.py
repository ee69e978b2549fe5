"""Covertype in both of its forms."""

import gzip

import pytest

from baserate_lab.datasets import covertype


@pytest.mark.parametrize("official", [True, False])
def test_covertype(official, tmp_path, unpinned, monkeypatch, check):
    unpinned(covertype)
    monkeypatch.setattr(covertype, "_N_SOURCE", 7)
    rows = "\n".join(",".join(map(str, [2596 + i, -i, *[0] * 52, i % 7 + 1])) for i in range(10)) + "\n"
    if official:
        (tmp_path / "covtype.data.gz").write_bytes(gzip.compress(rows.encode()))
    else:
        (tmp_path / "covtype.csv").write_text(",".join(f"column{i}" for i in range(55)) + "\n" + rows)
    data = check(covertype.load(tmp_path))
    assert data.source_X.shape == (7, 54)
    assert data.source_y.tolist() == list(range(7))
    assert data.target_X[:, :2].tolist() == [[2603, -7], [2604, -8], [2605, -9]]
    assert not data.in_time_order
