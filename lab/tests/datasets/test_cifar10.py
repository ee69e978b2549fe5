"""CIFAR-10 in both of its forms."""

import json

import numpy as np
import pytest

from baserate_lab.datasets import cifar10

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
