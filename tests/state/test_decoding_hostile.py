"""Files that somebody made up: each of these once crashed the process, hung it, or was believed."""

import copy
import io
import zipfile

import numpy as np
import pytest

from baserate import Bank
from baserate.adapters import ATLAS, UOGD, RegressAndReweight, RetrainLastLayer
from baserate.calibrators import BCTS
from baserate.marginals import BBSE, RLLS
from baserate.state import dumps, loads
from baserate.state.registry import registered
from baserate.trackers import Arrows, FollowTheFixedWindow, FollowTheHistory
from baserate.trust import AccuracyEstimate, Gate, PriorBand

from ..adapters.small_layer import W, X, Y
from .made_by_hand import edited

K = 4


def outputs(k, n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    return 0.6 * np.eye(k)[y] + 0.4 * rng.dirichlet(np.ones(k), size=n), y


def running(k=K, rounds=30, **params):
    proba, y = outputs(k, 420)
    adapter = RegressAndReweight(**params).fit(proba, y)
    for i in range(rounds):
        adapter.step(proba[10 * i : 10 * i + 10], ids=[f"{i}-{j}" for j in range(10)])
    return adapter


@pytest.mark.parametrize("method", [UOGD, ATLAS, RetrainLastLayer])
@pytest.mark.parametrize("label", [2**63 - 1, -1, 3, -(2**63)])
def test_a_label_that_is_no_class(method, label):
    fitted = method(W).fit(X, Y)
    fitted._labels = fitted._labels.copy()
    fitted._labels[3] = label
    with pytest.raises(ValueError, match="_labels with a number"):
        loads(dumps(fitted))


def test_a_parameter_that_the_state_sets_again():
    def more_classes(node):
        node["state"]["n_classes"] = 200_000

    with pytest.raises(ValueError, match="n_classes, which does not belong there"):
        loads(edited(FollowTheFixedWindow(3), more_classes))


PARTS = [
    ("tracker_",),
    ("_correction",),
    ("_correction", "gate_"),
    ("_monitor",),
    ("_monitor", "check_"),
    ("_monitor", "_band"),
    ("_monitor", "_accuracy"),
    ("_monitor", "_unknown"),
    ("_late",),
    ("marginals_",),
    ("calibrator_",),
]


@pytest.mark.parametrize("path", PARTS, ids=".".join)
@pytest.mark.parametrize("k", [2, 7])
def test_a_part_of_another_size(path, k):
    def adapter(n):
        tracker = FollowTheHistory(n) if path == ("marginals_",) else None
        proba, y = outputs(n, 420)
        calibrator = BCTS() if path == ("calibrator_",) else None
        fitted = RegressAndReweight(tracker, calibrator=calibrator).fit(proba, y)
        for i in range(20):
            fitted.step(proba[10 * i : 10 * i + 10], ids=None if tracker else [f"{i}-{j}" for j in range(10)])
        return fitted

    mine, other = adapter(K), adapter(k)
    owner, donor = mine, other
    for name in path[:-1]:
        owner, donor = getattr(owner, name), getattr(donor, name)
    assert getattr(donor, path[-1]) is not None
    setattr(owner, path[-1], getattr(donor, path[-1]))
    with pytest.raises(ValueError, match=r"holds|fit together"):
        loads(dumps(mine))


def test_a_bank_with_a_key_twice():
    bank = Bank(RegressAndReweight(FollowTheHistory(2)).fit(*outputs(2, 40)))
    bank.step(["a", "b", "c"], outputs(2, 3)[0])

    def twice(node):
        node["state"]["_keys"] = ["a", "b", "a"]

    with pytest.raises(ValueError, match="not unique"):
        loads(edited(bank, twice))


def test_a_bank_with_more_keys_than_states():
    bank = Bank(RegressAndReweight().fit(*outputs(3, 60)))
    bank.step(["a", "b"], outputs(3, 2)[0])

    def more(node):
        node["state"]["_keys"].append("c")

    with pytest.raises(ValueError, match="holds"):
        loads(edited(bank, more))


@pytest.mark.parametrize("place", range(6))
def test_notes_of_rounds_that_are_too_short(place):
    adapter = running()
    name, sample = next(iter(adapter._late._samples.items()))
    note = sample.note
    short = list(note)
    short[place] = np.ones(1) if isinstance(note[place], np.ndarray) else 10**9
    adapter._late._samples[name] = sample._replace(note=tuple(short))
    with pytest.raises(ValueError, match=r"holds|fit together"):
        loads(dumps(adapter))


def test_arrows_that_has_seen_more_than_anybody_can():
    tracker = Arrows(2)
    tracker._state.seen[:] = 2**63 - 1
    with pytest.raises(ValueError, match="seen with a number above"):
        loads(dumps(tracker))


def test_a_file_that_grows_when_it_is_unpacked():
    good, target = zipfile.ZipFile(io.BytesIO(dumps(FollowTheHistory(2)))), io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in good.namelist():
            archive.writestr(name, good.read(name))
        archive.writestr("9.npy", bytes(30_000_000))
    data = target.getvalue()
    assert len(data) < 100_000
    with pytest.raises(ValueError, match=r"takes 30,\d{3},\d{3} bytes when it is unpacked, and .* are allowed"):
        loads(data)


def test_a_compressed_file_loads_where_it_is_allowed_to_grow():
    good, target = zipfile.ZipFile(io.BytesIO(dumps(FollowTheHistory(300)))), io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in good.namelist():
            archive.writestr(name, good.read(name))
    assert dumps(loads(target.getvalue(), max_bytes=10**6)) == dumps(FollowTheHistory(300))


def test_a_manifest_that_is_all_of_a_large_file():
    good, target = zipfile.ZipFile(io.BytesIO(dumps(FollowTheHistory(2)))), io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name in good.namelist():
            blanks = bytes(2**25).replace(b"\0", b" ") if name == "manifest.json" else b""
            archive.writestr(name, good.read(name) + blanks)
    data = target.getvalue()
    with pytest.raises(
        ValueError, match=r"has a manifest that takes 33,\d{3},\d{3} bytes .* allow more with max_bytes="
    ):
        loads(data)
    assert dumps(loads(data, max_bytes=len(data))) == dumps(FollowTheHistory(2))


@pytest.mark.parametrize("piece", ["[]", "{}", "[[]]", '{"":{}}'])
def test_a_manifest_of_millions_of_lists_and_objects(piece):
    """Each would take a hundred times its own bytes in memory."""
    n = 2**21 // (piece.count("[") + piece.count("{")) + 1

    def many(node):
        node["state"]["more"] = "here"

    good, target = zipfile.ZipFile(io.BytesIO(edited(FollowTheHistory(2), many))), io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name in good.namelist():
            archive.writestr(name, good.read(name).replace(b'"here"', f"[{','.join([piece] * n)}]".encode()))
    data = target.getvalue()
    with pytest.raises(ValueError, match=r"manifest of 2,\d{3},\d{3} lists and objects, .* more with max_bytes="):
        loads(data)


@pytest.mark.parametrize("shape", ["(10**12,)", "(2**40, 2**40)", "(3,)", "(-1,)"])
def test_an_array_whose_header_says_another_size(shape):
    good, target = zipfile.ZipFile(io.BytesIO(dumps(FollowTheHistory(2)))), io.BytesIO()
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": eval(shape, {"__builtins__": {}})}
    )
    with zipfile.ZipFile(target, "w") as archive:
        for name in good.namelist():
            archive.writestr(name, header.getvalue() + bytes(16) if name == "0.npy" else good.read(name))
    with pytest.raises(ValueError, match="header says"):
        loads(target.getvalue(), max_bytes=10**9)


@pytest.mark.parametrize("prior", [[1e-50, 1.0], [1e-300, 1.0], [1.0, 1e-13]])
def test_a_source_prior_too_small_to_divide_by(prior):
    with pytest.raises(ValueError, match=r"source_prior gives class \d a share of .* with 1e-12 at least"):
        RegressAndReweight(source_prior=prior, calibrator=None).fit(*outputs(2, 40))
    smallest = RegressAndReweight(source_prior=[2e-12, 1.0], calibrator=None).fit(*outputs(2, 40))
    for i in range(20):
        smallest.step(outputs(2, 30, seed=i)[0])
    assert np.isfinite(smallest.prior_).all()
    assert smallest.prior_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("cls", [PriorBand, AccuracyEstimate, Gate, RLLS])
@pytest.mark.parametrize("share", [0.0, 5e-324, 1e-300, 1e-50, 9e-13])
def test_a_source_prior_too_small_to_divide_by_in_a_file(cls, share):
    fitted = cls().fit(*outputs(2, 60))
    fitted.source_prior_ = np.array([share, 1.0 - share])
    with pytest.raises(ValueError, match="source_prior_ with a number below 1e-12"):
        loads(dumps(fitted))


def test_what_is_refused_leaves_nothing_behind():
    adapter = running(rounds=5)
    before = dumps(adapter)
    broken = copy.deepcopy(adapter)
    broken._correction.prior_ = np.array([2.0, -1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="prior_ with a number below"):
        loads(dumps(broken))
    assert dumps(loads(before)) == before


def test_a_part_whose_methods_have_the_right_names_but_are_others():
    adapter = running(rounds=0, marginals=BBSE(), tracker=FollowTheHistory(K))
    adapter.marginals_ = running(rounds=0)._monitor._accuracy
    with pytest.raises(ValueError, match="marginals_ that is a AccuracyEstimate, not a MarginalEstimator"):
        loads(dumps(adapter))


@pytest.mark.parametrize("name", sorted(name for name in registered() if name.startswith("baserate.")))
def test_a_base_of_other_classes_that_declares_nothing(name):
    def rename(node):
        node["$class"] = name

    for obj in (FollowTheHistory(2), BCTS().fit(*outputs(2, 40))):
        with pytest.raises(ValueError, match=r"holds a baserate\..*, which is not known here"):
            loads(edited(obj, rename))
