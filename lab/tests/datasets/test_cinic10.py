"""CINIC-10: pictures in folders of parts and classes."""

import numpy as np
import pytest

from baserate_lab.datasets import cifar10, cinic10

from .class_folders import write_classes

Image = pytest.importorskip("PIL.Image")


def test_cinic10(tmp_path, check):
    for number, part in enumerate(("train", "valid", "test")):
        write_classes(tmp_path / "CINIC-10" / part, cinic10.CLASSES, 32, ".png", 3 - number, grey={(0, 0)})
    data = check(cinic10.load(tmp_path))
    assert data.source_X.shape == (30, 32, 32, 3)
    assert data.target_X.shape == (10, 32, 32, 3)
    coloured = data.source_X[:, 0, 0, 2] == 128
    assert (~coloured).sum() == 1, "one is grey"
    np.testing.assert_array_equal(data.source_X[coloured, 5, 7, 0] // 16, data.source_y[coloured])
    assert np.bincount(data.source_y).tolist() == [3] * 10
    assert np.any(np.diff(data.source_y) < 0), "classes are mixed"
    assert data.class_names == cifar10.CLASSES


@pytest.mark.parametrize("raw", [b"", b"\x89PNG\r\n\x1a\nrubbish"])
def test_a_damaged_picture_is_an_error_of_the_file(tmp_path, raw):
    write_classes(tmp_path / "train", cinic10.CLASSES, 32, ".png", 1)
    write_classes(tmp_path / "test", cinic10.CLASSES, 32, ".png", 1)
    (tmp_path / "test" / "cat" / "cat_0.png").write_bytes(raw)
    with pytest.raises(OSError, match=r"cat_0.png"):
        cinic10.load(tmp_path)
