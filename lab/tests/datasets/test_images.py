"""CIFAR-10 in both of its forms, CINIC-10 and EuroSAT: pictures."""

import json
import sys

import numpy as np
import pytest

from baserate_lab.datasets import DataNotFoundError, _images, cifar10, cinic10, eurosat

Image = pytest.importorskip("PIL.Image")

RNG = np.random.default_rng(0)
BATCHES = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]
PICTURES = {name: RNG.integers(256, size=(3, 32, 32, 3), dtype=np.uint8) for name in BATCHES}
LABELS = {name: RNG.integers(10, size=3, dtype=np.uint8) for name in BATCHES}


def write_binary(folder):
    folder.mkdir()
    for name in BATCHES:
        planes = PICTURES[name].transpose(0, 3, 1, 2).reshape(3, -1)
        (folder / f"{name}.bin").write_bytes(np.hstack([LABELS[name][:, None], planes]).tobytes())


def write_rows(folder):
    folder.mkdir()
    for name in BATCHES:
        Image.fromarray(PICTURES[name].reshape(3, 1024, 3)).save(folder / f"{name}.png")
    train = np.concatenate([LABELS[name] for name in BATCHES[:5]]).tolist()
    (folder / "train_lables.json").write_text(json.dumps(train))
    (folder / "test_lables.json").write_text(json.dumps(LABELS["test_batch"].tolist()))


@pytest.mark.parametrize("write", [write_binary, write_rows])
def test_cifar10(write, tmp_path, unpinned, check):
    write(tmp_path / "cifar-10-batches")
    unpinned(cifar10)
    data = check(cifar10.load(tmp_path))
    np.testing.assert_array_equal(data.source_X, np.concatenate([PICTURES[name] for name in BATCHES[:5]]))
    np.testing.assert_array_equal(data.source_y, np.concatenate([LABELS[name] for name in BATCHES[:5]]))
    np.testing.assert_array_equal(data.target_X, PICTURES["test_batch"])
    np.testing.assert_array_equal(data.target_y, LABELS["test_batch"])
    assert data.class_names[3] == "cat"


def test_a_file_that_is_cut_is_noticed(tmp_path):
    write_binary(tmp_path / "x")
    (tmp_path / "x" / "test_batch.bin").write_bytes(b"\0" * 3072)
    with pytest.raises(OSError, match=r"test_batch.bin is cut short"):
        cifar10.load(tmp_path)


def test_a_picture_of_any_size_is_read_and_the_limit_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    Image.fromarray(np.full((8, 8, 3), 7, np.uint8)).save(tmp_path / "a.png")
    assert _images.read_image(tmp_path / "a.png").tolist() == np.full((8, 8, 3), 7).tolist()
    assert Image.MAX_IMAGE_PIXELS == 10


def test_without_the_library_the_way_to_install_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'baserate\[data\]'") as info:
        _images.read_image(tmp_path / "a.png")
    assert info.value.name == "PIL"


def write_classes(folder, classes, side, suffix, per_class, grey=()):
    """Pictures of one colour that says class and number."""
    for c, name in enumerate(classes):
        (folder / name).mkdir(parents=True)
        for i in range(per_class):
            colour = np.full((side, side, 3), (16 * c, 16 * i, 128), np.uint8)
            picture = Image.fromarray(colour)
            if (c, i) in grey:
                picture = picture.convert("L")
            picture.save(folder / name / f"{name}_{i}{suffix}")
        (folder / name / "Thumbs.db").write_text("")


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


@pytest.mark.parametrize("raw", [b"", b"\x89PNG\r\n\x1a\nrubbish"])
def test_a_damaged_picture_is_an_error_of_the_file(tmp_path, raw):
    write_classes(tmp_path / "train", cinic10.CLASSES, 32, ".png", 1)
    write_classes(tmp_path / "test", cinic10.CLASSES, 32, ".png", 1)
    (tmp_path / "test" / "cat" / "cat_0.png").write_bytes(raw)
    with pytest.raises(OSError, match=r"cat_0.png"):
        cinic10.load(tmp_path)


def test_a_missing_class_folder_is_a_missing_data_set(tmp_path):
    with pytest.raises(DataNotFoundError, match=r"AnnualCrop(.|\n)*EuroSAT_RGB.zip"):
        eurosat.load(tmp_path)
