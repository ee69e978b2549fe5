"""SHL: days of files with a hundred lines a second."""

import numpy as np
import pytest

from baserate_lab.datasets import DataNotFoundError, shl


def write_day(folder, user, day, labels, value=0.0, missing=(), shift=0):
    """One second per label; column j of second s holds value + s + 10 j, up and down by one."""
    place = folder / user / day
    place.mkdir(parents=True)
    n = len(labels) * 100
    time = 1498000000000 + 10 * np.arange(n)
    wobble = np.where(np.arange(n) % 2, 1.0, -1.0)
    motion = value + (np.arange(n) // 100)[:, None] + 10 * np.arange(22) + wobble[:, None]
    motion[list(missing)] = np.nan
    label = np.concatenate([np.full(100, one) if np.isscalar(one) else np.repeat(one, 50) for one in labels])
    rest = np.zeros((n, 6), dtype=int)
    np.savetxt(place / "Hips_Motion.txt", np.column_stack([time + shift, motion]), fmt="%.3f")
    np.savetxt(place / "Label.txt", np.column_stack([time, label, rest]), fmt="%d")


def test_a_sample_is_the_mean_of_a_second(tmp_path, check):
    write_day(tmp_path / "release", "User1", "220617", [1, 2, 3, 4, 5, 6, 6, 6, 6, 6])
    data = check(shl.load(tmp_path))
    assert data.source_y.tolist() == [0, 1, 2]
    assert data.target_y.tolist() == [3, 4, 5, 5, 5, 5, 5]
    X = np.concatenate([data.source_X, data.target_X])
    np.testing.assert_allclose(X, np.arange(10)[:, None] + 10 * np.arange(22), atol=1e-9)
    assert data.in_time_order
    assert data.class_names == ("still", "walking", "run", "bike", "car", "bus")


def test_what_has_no_steady_label_of_the_six_is_left_out(tmp_path):
    write_day(tmp_path, "User1", "220617", [0, 1, (1, 2), 2, 7, 8, 3, 3], missing=range(600, 700))
    data = shl.load(tmp_path)
    X = np.concatenate([data.source_X, data.target_X])
    assert [*data.source_y, *data.target_y] == [0, 1, 2]
    assert X[:, 0].tolist() == pytest.approx([1, 3, 7])


def test_single_missing_values_are_no_harm(tmp_path):
    write_day(tmp_path, "User1", "220617", [1, 1, 1], missing=[0, 1, 250, 251])
    data = shl.load(tmp_path)
    assert [*data.source_X[:, 0], *data.target_X[:, 0]] == pytest.approx([0, 1, 2])


def test_days_are_in_the_order_of_their_dates_and_long_ones_are_read_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(shl, "_SECONDS", 2)
    write_day(tmp_path, "User1", "030717", [1, 1, 1], value=5000)
    write_day(tmp_path, "User2", "220617", [1, 1], value=2000)
    write_day(tmp_path, "User1", "220617", [1], value=1000)
    write_day(tmp_path, "User3", "260617", [1, 2, 1, 2, 1], value=3000)
    write_day(tmp_path, "User2", "010118", [1], value=9000)
    data = shl.load(tmp_path)
    firsts = [*data.source_X[:, 0], *data.target_X[:, 0]]
    assert firsts == pytest.approx([1000, 2000, 2001, 3000, 3001, 3002, 3003, 3004, 5000, 5001, 5002, 9000])


def test_files_that_do_not_belong_together_are_noticed(tmp_path):
    write_day(tmp_path, "User1", "220617", [1, 2], shift=10)
    with pytest.raises(OSError, match=r"the times in .*220617.*are not the same"):
        shl.load(tmp_path)


def test_it_says_how_the_files_lie_and_who_has_them():
    with pytest.raises(DataNotFoundError, match=r"User1/<ddmmyy>/Hips_Motion.txt and Label.txt .*by request"):
        shl.load()


def test_it_is_got_by_hand_alone(tmp_path):
    with pytest.raises(DataNotFoundError, match=r"shl-dataset.org(.|\n)*get User1(.|\n)*BASERATE_DATA"):
        shl.load()
    (tmp_path / "User1").mkdir()
    with pytest.raises(OSError, match=r"holds no day; expected User1/<ddmmyy>/Hips_Motion.txt"):
        shl.load(tmp_path)
