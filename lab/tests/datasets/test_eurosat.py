"""EuroSAT: pictures in a folder for each class."""

import numpy as np
import pytest

from baserate_lab.datasets import DataNotFoundError, eurosat

from .class_folders import write_classes

Image = pytest.importorskip("PIL.Image")


def test_eurosat(tmp_path, check):
    write_classes(tmp_path / "EuroSAT_RGB", eurosat._CLASSES, 64, ".jpg", 27 // 9)
    data = check(eurosat.load(tmp_path))
    assert data.source_X.shape == (19, 64, 64, 3)
    assert data.target_X.shape == (11, 64, 64, 3)
    X, y = np.concatenate([data.source_X, data.target_X]), np.r_[data.source_y, data.target_y]
    np.testing.assert_array_equal((X[:, 30, 30, 0].astype(int) + 8) // 16, y)  # JPEG moves colours a little
    assert np.bincount(y).tolist() == [3] * 10
    assert data.class_names[9] == "SeaLake"
    again = eurosat.load(tmp_path)
    np.testing.assert_array_equal(again.target_X, data.target_X)


def test_a_picture_of_another_size_is_named(tmp_path):
    write_classes(tmp_path, eurosat._CLASSES, 64, ".jpg", 1)
    Image.fromarray(np.zeros((10, 20, 3), np.uint8)).save(tmp_path / "River" / "River_9.jpg")
    with pytest.raises(OSError, match=r"River_9.jpg has 20 x 10 pixels, expected 64 x 64"):
        eurosat.load(tmp_path)


def test_a_class_without_pictures_is_named(tmp_path):
    write_classes(tmp_path, eurosat._CLASSES, 64, ".jpg", 1)
    (tmp_path / "Forest" / "Forest_0.jpg").unlink()
    with pytest.raises(OSError, match=r"Forest holds no .jpg files"):
        eurosat.load(tmp_path)


def test_a_missing_class_folder_is_a_missing_data_set(tmp_path):
    with pytest.raises(DataNotFoundError, match=r"AnnualCrop(.|\n)*EuroSAT_RGB.zip"):
        eurosat.load(tmp_path)
