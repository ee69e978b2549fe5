"""HAPT: sessions cut into windows, windows summarised."""

import gzip

import numpy as np
import pytest

from baserate_lab.datasets import hapt

from . import old_pickles as pickles

CHANNELS = ("acc-x", "acc-y", "acc-z", "gyro-x", "gyro-y", "gyro-z")


def session(stretches, level=0.0):
    """Stretches of (label, length); the first channel says where in the session a sample is, the rest are level."""
    label = np.concatenate([np.full(length, name) for name, length in stretches])
    signals = {name: np.full(len(label), level) for name in CHANNELS}
    signals["acc-x"] = np.arange(len(label), dtype=float)
    return pickles.table(**signals, sequence=np.arange(len(label)), label=label)


def write(folder, people):
    fragments = {number: b"](" + b"".join(sessions) + b"e" for number, sessions in people.items()}
    (folder / "HAPT.pkl.gz").write_bytes(gzip.compress(pickles.finished(pickles.mapping(fragments))))
    return folder


def test_windows_lie_in_one_activity_and_keep_the_order(tmp_path, unpinned, check):
    unpinned(hapt)
    people = {
        1: [session([(5, 256)])],
        15: [session([(-1, 40), (1, 128), (7, 200), (6, 127), (4, 191)])],
        16: [session([(2, 192), (3, 130)]), session([(6, 128)])],
        30: [session([(2, 128)])],
    }
    data = check(hapt.load(write(tmp_path, people)))
    assert data.source_y.tolist() == [4, 4, 4, 0, 3]
    assert data.target_y.tolist() == [1, 1, 2, 5, 1]
    firsts = data.source_X[:, 16]  # the smallest acc-x is where the window begins
    assert firsts.tolist() == [0, 64, 128, 40, 40 + 128 + 200 + 127]
    assert data.target_X[:, 16].tolist() == [0, 64, 192, 0, 0]
    assert data.source_X.shape[1] == 8 * len(hapt.STATISTICS)
    assert data.in_time_order
    assert data.stand_in_for == "shl"
    assert data.class_names[5] == "lying"


def test_the_statistics_of_a_wave():
    """A sine of 6.25 Hz (16 periods of 8 samples) with amplitude 2 around 3, and constants elsewhere."""
    window = np.zeros((1, 128, 6))
    window[0, :, 0] = 3 + 2 * np.sin(2 * np.pi * np.arange(128) / 8)
    window[0, :, 3] = -4.0
    features = hapt.summarise(window).reshape(7, 8)
    mean, deviation, low, high, energy, centre, spread = features[:, 0]
    assert mean == pytest.approx(3)
    assert deviation == pytest.approx(np.sqrt(2))
    assert (low, high) == (pytest.approx(1), pytest.approx(5))
    assert energy == pytest.approx(9 + 2)
    assert centre == pytest.approx(6.25)
    assert spread == pytest.approx(0, abs=1e-6)
    assert features[:, 3].tolist() == [-4, 0, -4, -4, 16, 0, 0]
    assert features[:, 1].tolist() == [0] * 7
    assert features[:, 7].tolist() == [4, 0, 4, 4, 16, 0, 0], "the length of the second vector"
    np.testing.assert_allclose(features[:5, 6], features[:5, 0], err_msg="the length of the first vector")


def test_the_spread_of_two_waves():
    """Equal powers at 5.46875 and 10.9375 Hz: the centre is in the middle, the spread is half the distance."""
    time = np.arange(128)
    window = np.zeros((1, 128, 6))
    window[0, :, 2] = np.sin(2 * np.pi * 14 * time / 128) + np.cos(2 * np.pi * 28 * time / 128)
    features = hapt.summarise(window).reshape(7, 8)
    assert features[5, 2] == pytest.approx(21 * 50 / 128)
    assert features[6, 2] == pytest.approx(7 * 50 / 128)


def test_a_file_that_would_run_something_is_refused(tmp_path):
    attack = pickles.finished(pickles.call(pickles.name("os", "system"), pickles.plain(f"touch {tmp_path}/ran")))
    (tmp_path / "HAPT.pkl.gz").write_bytes(gzip.compress(attack))
    with pytest.raises(OSError, match=r"refused: it asks for os.system"):
        hapt.load(tmp_path)
    assert not (tmp_path / "ran").exists()
