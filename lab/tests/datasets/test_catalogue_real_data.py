"""The real data sets, fetched once: run with ``-m data``."""

import numpy as np
import pytest

from baserate_lab import datasets

pytestmark = pytest.mark.data
# Shapes and class counts of source and target.
EXPECTED = {
    "arxiv": ((8963,), (4481,), None, None),
    "cifar10": ((50_000, 32, 32, 3), (10_000, 32, 32, 3), [5000] * 10, [1000] * 10),
    "covertype": (
        (15_120, 54),
        (565_892, 54),
        [2160] * 7,
        [209_680, 281_141, 33_594, 587, 7333, 15_207, 18_350],
    ),
    "crop": ((16_800, 46), (7200, 46), [700] * 24, [300] * 24),
    "digits": ((1198, 64), (599, 64), None, None),
    "elec2": ((15_104, 6), (30_208, 6), [8358, 6746], [17_717, 12_491]),
    "employment": ((68_785, 16), (208_892, 16), [34_679, 34_106], [103_799, 105_093]),
    "fashion": ((60_000, 784), (10_000, 784), [6000] * 10, [1000] * 10),
    "hapt": ((4754, 56), (5657, 56), [874, 761, 676, 766, 839, 838], [848, 783, 731, 1035, 1140, 1120]),
    "mnist": (
        (60_000, 784),
        (10_000, 784),
        [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
        [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
    ),
    "newsgroups": ((11_314,), (7532,), None, None),
    "occupancy": ((6853, 5), (13_707, 5), [4740, 2113], [11_070, 2637]),
    "reuters": (
        (4123,),
        (4123,),
        [1125, 57, 213, 2118, 96, 108, 93, 82, 68, 163],
        [1237, 59, 195, 1827, 189, 199, 68, 76, 75, 198],
    ),
    "spam_assassin": ((1924,), (4122,), [714, 1210], [3436, 686]),
    "synthetic": ((60_000, 12), (12_000, 12), [20_000] * 3, [4000] * 3),
    "weather": ((6053, 8), (12_106, 8), [4234, 1819], [8227, 3879]),
}
# Of streams: size of a block, and the mean total variation of the blocks' class mixes to that of the whole target,
# as it is and as it would be if the rows were shuffled. hapt's blocks of 50 hold one or two of six activities.
DRIFT = {
    "arxiv": (200, 0.134, 0.116),
    "elec2": (50, 0.148, 0.057),
    "employment": (200, 0.045, 0.030),
    "hapt": (50, 0.522, 0.126),
    "occupancy": (50, 0.297, 0.045),
    "reuters": (200, 0.170, 0.064),
    "spam_assassin": (200, 0.131, 0.017),
    "weather": (50, 0.107, 0.057),
}


def drift(y, size, k):
    mix = np.bincount(y, minlength=k) / len(y)
    blocks = [y[i : i + size] for i in range(0, len(y) - size + 1, size)]
    return np.mean([np.abs(np.bincount(block, minlength=k) / size - mix).sum() / 2 for block in blocks])


@pytest.mark.parametrize("name", EXPECTED)
def test_shapes_and_counts(name, check):
    data = check(datasets.load(name))
    source, target, source_counts, target_counts = EXPECTED[name]
    assert data.source_X.shape == source
    assert data.target_X.shape == target
    k = len(data.class_names)
    for y, counts in ((data.source_y, source_counts), (data.target_y, target_counts)):
        assert np.bincount(y, minlength=k).min() >= 29, "enough of every class"
        if counts is not None:
            assert np.bincount(y, minlength=k).tolist() == counts


@pytest.mark.parametrize("name", DRIFT)
def test_streams_drift(name):
    data = datasets.load(name)
    size, real, shuffled = DRIFT[name]
    k = len(data.class_names)
    assert data.in_time_order
    assert drift(data.target_y, size, k) == pytest.approx(real, abs=0.002)
    mixed = np.random.default_rng(0).permutation(data.target_y)
    assert drift(mixed, size, k) == pytest.approx(shuffled, abs=0.005)


def test_every_stream_is_here():
    streams = {name for name in EXPECTED if datasets.load(name).in_time_order}
    assert streams == set(DRIFT)


def test_what_is_loaded_twice_is_the_same_and_fetched_once(capsys):
    for name in EXPECTED:
        datasets.load(name)
    capsys.readouterr()
    for name in ("arxiv", "hapt", "newsgroups", "crop"):
        one, two = datasets.load(name), datasets.load(name)
        assert all(np.array_equal(a, b) for a, b in zip(one[:4], two[:4], strict=True))
    assert capsys.readouterr().err == ""


def test_cifar10_has_its_known_channel_means():
    data = datasets.load("cifar10")
    means = data.source_X.reshape(-1, 3).mean(axis=0) / 255
    np.testing.assert_allclose(means, [0.4914, 0.4822, 0.4465], atol=1e-4)


def test_arxiv_has_the_subjects_and_both_splits():
    timed, mixed = datasets.load("arxiv"), datasets.load("arxiv", by_time=False)
    assert len(timed.class_names) == 23
    assert {"astro-ph", "cs.CV", "cs.LG", "hep-th", "math.PR", "quant-ph"} < set(timed.class_names)
    assert sorted((*timed.source_X, *timed.target_X)) == sorted((*mixed.source_X, *mixed.target_X))
    machine_learning = timed.class_names.index("cs.LG")
    share = [np.mean(y == machine_learning) for y in (timed.source_y, timed.target_y)]
    assert share[0] < 0.02 < 0.1 < share[1]


def test_texts_read_as_they_should():
    reuters, mails = datasets.load("reuters"), datasets.load("spam_assassin")
    assert reuters.source_X[0].startswith("BAHIA COCOA") is False, "cocoa is not among the ten"
    assert sum("shr" in text or "Shr" in text for text in reuters.target_X[reuters.target_y == 3]) > 500
    spam = [sum("unsubscribe" in text.lower() or "free" in text.lower() for text in mails.target_X[mails.target_y == c])
            for c in (0, 1)]  # fmt: skip
    counts = np.bincount(mails.target_y)
    assert spam[1] / counts[1] > 2 * spam[0] / counts[0]
