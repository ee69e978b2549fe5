"""Crop: two files, mixed."""

import numpy as np

from baserate_lab.datasets import crop


def test_crop(tmp_path, unpinned, check):
    unpinned(crop)
    for name, labels in (("Crop_TRAIN.tsv", range(1, 25)), ("Crop_TEST.tsv", [*range(1, 25)] * 2)):
        rows = [[c, *(c + np.arange(46) / 100)] for c in labels]
        np.savetxt(tmp_path / name, rows, delimiter="\t", fmt="%g")
    data = check(crop.load(tmp_path))
    assert data.source_X.shape == (48, 46)
    assert data.target_X.shape == (24, 46)
    assert np.bincount(data.source_y).tolist() == [2] * 24
    np.testing.assert_allclose(data.target_X[:, 0], data.target_y + 1)
    np.testing.assert_allclose(data.target_X[:, 45], data.target_y + 1.45)
    assert np.any(np.diff(data.target_y) < 0), "classes are mixed"
    assert data.stand_in_for == "eurosat"
