"""MNIST and Fashion-MNIST: the idx format."""

import gzip
import struct

import numpy as np
import pytest

from baserate_lab.datasets import WrongDataError, fashion, mnist
from baserate_lab.datasets._idx import read_idx

RNG = np.random.default_rng(0)
FILES = {
    "train-images-idx3-ubyte": RNG.integers(256, size=(5, 28, 28)),
    "train-labels-idx1-ubyte": np.array([9, 0, 3, 3, 1]),
    "t10k-images-idx3-ubyte": RNG.integers(256, size=(2, 28, 28)),
    "t10k-labels-idx1-ubyte": np.array([7, 2]),
}


def idx(array, kind=8):
    header = struct.pack(f">HBB{array.ndim}I", 0, kind, array.ndim, *array.shape)
    return header + array.astype(np.uint8).tobytes()


def write(folder, packed=()):
    for name, array in FILES.items():
        if name in packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(idx(array)))
        else:
            (folder / name).write_bytes(idx(array))


@pytest.mark.parametrize("module", [mnist, fashion])
@pytest.mark.parametrize("packed", [(), FILES, ("t10k-labels-idx1-ubyte",)])
def test_the_files_are_read_packed_or_not(module, packed, tmp_path, unpinned, check):
    write(tmp_path, packed)
    unpinned(module)
    data = check(module.load(tmp_path))
    assert data.source_X.shape == (5, 784)
    assert data.source_X.dtype == data.target_X.dtype == np.float32
    np.testing.assert_allclose(data.target_X, FILES["t10k-images-idx3-ubyte"].reshape(2, -1) / 255, rtol=0, atol=1e-7)
    assert data.source_y.tolist() == [9, 0, 3, 3, 1]
    assert data.target_y.tolist() == [7, 2]
    assert len(data.class_names) == 10
    assert data.in_time_order is False


def test_pixels_lie_between_0_and_1(tmp_path, unpinned):
    write(tmp_path)
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(idx(np.array([[[0] * 28] * 28, [[255] * 28] * 28])))
    unpinned(mnist)
    assert np.unique(mnist.load(tmp_path).target_X).tolist() == [0.0, 1.0]


def test_other_images_are_refused(tmp_path):
    write(tmp_path)
    with pytest.raises(WrongDataError, match=r"mnist .* is not the data set"):
        mnist.load(tmp_path)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (idx(np.zeros((2, 3)))[:-1], "cut short"),
        (idx(np.zeros((2, 3))) + b"x", "too long"),
        (idx(np.zeros((2, 3)))[:7], "cut short"),
        (idx(np.zeros((2, 3)), kind=13), "not an idx file of bytes"),
        (b"", "not an idx file"),
        (b"<html>not found</html>", "not an idx file"),
    ],
)
def test_damaged_files_are_noticed(tmp_path, raw, said):
    (tmp_path / "f").write_bytes(raw)
    with pytest.raises(ValueError, match=said):
        read_idx(tmp_path / "f")
    assert read_idx_of(tmp_path, np.arange(6).reshape(1, 2, 3)).tolist() == [[[0, 1, 2], [3, 4, 5]]]


def read_idx_of(folder, array):
    (folder / "g").write_bytes(idx(array))
    return read_idx(folder / "g")
