"""Files of running objects, each with one entry changed: refused, or as good as any other.

Run as a program, with ``NUMBA_BOUNDSCHECK=1``, because compiled code does not check bounds otherwise. Its arguments are
one in how many changes to try, and the classes to try them on, by default all.
"""

import copy
import faulthandler
import io
import itertools
import json
import sys
import traceback
import warnings
import zipfile

import numpy as np

from baserate import calibrators, marginals, shifts, trust
from baserate.protocols import Evidence
from baserate.state import dumps, loads
from baserate.trackers import FLHFTL, LikelihoodMixture
from baserate.trust.monitor import TrustMonitor
from baserate.trust.seen import Round

SECONDS = 60  # for one change
K = 3
MIX = np.array([0.2, 0.3, 0.5])


def outputs(n, mix, seed, noise=1.0):
    """Probabilities and labels of a model that is right in four of five cases."""
    rng = np.random.default_rng(seed)
    y = rng.choice(K, p=mix, size=n)
    logits = 2.5 * np.eye(K)[y] + noise * rng.standard_normal((n, K))
    rows = np.exp(logits - logits.max(axis=1, keepdims=True))
    return rows / rows.sum(axis=1, keepdims=True), y


HOLDOUT = outputs(240, np.full(K, 1 / K), 0)


def on_simplex(values):
    values = np.asarray(values)
    assert (values >= -1e-9).all()
    assert np.allclose(values.sum(axis=-1), 1.0, atol=1e-6), values


def between(values, low, high):
    assert (np.asarray(values) >= low).all(), values
    assert (np.asarray(values) <= high).all(), values


def use_estimator(obj):
    for i in range(5):
        on_simplex(obj.estimate(outputs(20, MIX, i)[0]))


def use_calibrator(obj):
    for i in range(5):
        on_simplex(obj.transform(outputs(20, MIX, i)[0]))


def use_shift(obj):
    k = len(next((v for n in ("q", "start", "first", "second") if (v := getattr(obj, n, None)) is not None), MIX))
    if getattr(obj, "variation", 0.0) <= 50 / 8:  # which depends on the number of rounds
        on_simplex(obj.path(50, k, 0))


def use_gate(obj):
    for i in range(6):
        on_simplex(obj.mix(MIX))
        between([obj.weight_], 0.0, 1.0)
        assert obj.off_ in (True, False)
        assert obj.doubted_ in (True, False)
        obj.update(outputs(1, MIX, i)[0][0], alarm=i == 3, dependent=i >= 4, explained=i == 5)


def use_accuracy(obj):
    for i in range(6):
        between(obj.estimate() if i else obj.estimate()[1:], 0.0, 1.0)  # without a sample there is no estimate
        obj.update(outputs(40, MIX, i)[0], MIX if i % 2 else MIX[::-1])


def use_band(obj):
    tracker = FLHFTL(K)
    mixture = LikelihoodMixture(K)
    for i in range(6):
        on_simplex(obj._mixture.predict())
        for other in (tracker, mixture):
            between(obj.interval(MIX, other), 0.0, 1.0)
        rows = outputs(40, MIX, i)[0]
        mixture.update(MIX, Evidence(rows, obj.source_prior_))
        obj.update(rows, tracker)


def use_mixture(obj):
    band = trust.PriorBand().fit(*HOLDOUT)
    for i in range(6):
        on_simplex(obj.predict())
        between(band.interval(MIX, obj), 0.0, 1.0)
        obj.update(MIX, Evidence(outputs(40, MIX, i)[0], MIX))


def use_unknown(obj):
    for i in range(6):
        assert np.isfinite([obj.mass_, obj.raw_]).all()
        assert obj.error_ >= 0.0
        on_simplex(obj.without_unknown(MIX))
        obj.update(outputs(300, MIX, i, noise=2.0)[0])


def use_dependence(obj):
    for i in range(6):
        assert np.isfinite([obj.correlation_, obj.low_]).all()
        obj.update(outputs(300, MIX, i)[0])


def use_check(obj):
    for i in range(6):
        between(obj.evidence_, 1.0, 1e305)
        assert all(str(finding) for finding in obj.explain())
        obj.update(outputs(700, MIX, i, noise=1.0 + i)[0])
    obj.reset()
    obj.update(outputs(700, MIX, 5)[0])


def use_directions(obj):
    check = trust.AssumptionCheck().fit(*HOLDOUT)
    check._bets._directions = obj
    use_check(check)


def use_hull(obj):
    check = trust.AssumptionCheck().fit(*HOLDOUT)
    check._hull = obj
    use_check(check)


def use_monitor(obj):
    tracker = FLHFTL(K)
    for i in range(6):
        if obj.known_:
            between(obj.interval(MIX, tracker, 0.9), 0.0, 1.0)
            between(obj.accuracy(0.9) if i else obj.accuracy(0.9)[1:], 0.0, 1.0)
        for in_alarm in (True, False):
            between(obj.evidence(in_alarm=in_alarm), 1.0, 1e305)
            assert all(str(finding) for finding in obj.findings(in_alarm=in_alarm))
        on_simplex(obj.without_unknown(MIX))
        assert np.isfinite(obj.unknown_mass_)
        assert isinstance(obj.untested_, str)
        rows, labels = outputs((100, 300, 1100, 257, 5, 9)[i], MIX, i)
        obj.take_in(Round(rows, rows, rows, MIX, MIX, labels if i == 3 else None), tracker)
    obj.restart(MIX)
    obj.reset()
    obj.take_in(Round(rows, rows, rows, MIX, MIX, None), tracker)


def moved(obj, use):
    """The object after some use."""
    use(obj)
    return obj


def moved_monitor(alpha=0.05):
    monitor = TrustMonitor(alpha).fit(HOLDOUT[0], HOLDOUT[0], HOLDOUT[1], np.full(K, 1 / K), FLHFTL(K))
    for i in range(8):
        rows = outputs(700, MIX, i, noise=3.0)[0]
        monitor.take_in(Round(rows, rows, rows, MIX, MIX, None), FLHFTL(K))
    rows = outputs(40, MIX, 9)[0]
    monitor.take_in(Round(rows, rows, rows, MIX, MIX, None), FLHFTL(K))
    return monitor


def subjects():
    """Running objects, and how each is used."""
    check = trust.AssumptionCheck().fit(*HOLDOUT)
    for i in range(4):
        check.update(outputs(400, MIX, i, noise=2.0)[0])
    directions = copy.deepcopy(check._bets._directions)
    tested = [
        (trust.SerialDependence(), use_dependence),
        (trust.UnknownMass().fit(*HOLDOUT), use_unknown),
        (trust.AccuracyEstimate(200).fit(*HOLDOUT), use_accuracy),
        (trust.PriorBand().fit(*HOLDOUT), use_band),
        (LikelihoodMixture(K), use_mixture),
        (trust.Gate().fit(*HOLDOUT), use_gate),
        (trust.Gate().fit(source_prior=MIX), use_gate),
    ]
    found = [(moved(*pair), pair[1]) for pair in tested]
    hull = copy.deepcopy(check._hull)
    found += [(check, use_check), (directions, use_directions), (hull, use_hull), (moved_monitor(), use_monitor)]
    for cls in (marginals.BBSE, marginals.RLLS, marginals.MLLS):
        found += [
            (example.fit(*HOLDOUT), use_estimator) for example in cls.examples() if getattr(example, "clip", True)
        ]
    names = ("TemperatureScaling", "BCTS", "VectorScaling", "AutoCalibrator")
    found += [(getattr(calibrators, name)().fit(*outputs(400, MIX, 1, noise=3.0)), use_calibrator) for name in names]
    found += [(shifts.Constant(MIX), use_shift), (shifts.RandomWalk(start=MIX), use_shift)]
    found += [(shifts.Adversary(), use_shift), (shifts.Bernoulli(flip=0.5, first=MIX), use_shift)]
    found += [(shifts.Monotone(second=MIX), use_shift), (shifts.Square(length=3, first=MIX), use_shift)]
    return [*found, (shifts.Sinusoidal(length=3, second=list(MIX)), use_shift)]


def changed_arrays(array):
    """Arrays like one, but wrong, or perhaps not."""
    yield array.astype(np.float32 if array.dtype.kind == "f" else np.int32)
    yield array.astype(np.int64 if array.dtype.kind == "f" else np.float64)
    yield array[np.newaxis]
    yield array.ravel()
    yield array.T.copy()
    if array.ndim:
        yield array[:-1]
        yield array[:0]
        yield np.concatenate([array, array])
        yield array[::-1].copy()
        yield array[..., :-1].copy()
        yield array[..., :0].copy()
        yield np.concatenate([array, array[..., :1]], axis=-1)
    numbers = [0, 1, -1, 2**62, 10**6]
    if array.dtype.kind == "f":
        numbers += [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, 0.5, -1e-6, 1e15]
    for number in numbers:
        yield np.full_like(array, number)
        for place in {0, array.size // 2, array.size - 1} if array.size else ():
            edited = array.copy()
            edited.flat[place] = number
            yield edited
    if array.dtype.kind == "f":
        for factor in (-1.0, 0.5, 2.0, 1e6, 1e-6):
            yield array * factor
        yield array + np.arange(array.size).reshape(array.shape)


PLAIN = [None, True, False, 0, 1, -1, 2, 3, 4, 127, 128, 255, 256, 2**31, 2**52, 2**62, 2**70, 0.5, 1.0, 1e-320, 1e-6]
PLAIN += [-0.5, 1e9, 1e308, float("nan"), float("inf"), -float("inf"), "", "text", "helps", "hurts", [], [1], {}]
PLAIN += [
    {"$tuple": []},
    {"a": 1},
    {"$class": "follow_the_history", "layout": 1, "params": {"n_classes": 3}, "state": {}},
]


def places(node, path=()):
    """Where entries are, in a manifest."""
    if isinstance(node, dict) and "$array" not in node:
        for name, item in node.items():
            if name not in ("layout", "$class"):
                yield (*path, name), item
                yield from places(item, (*path, name))
    elif isinstance(node, list):
        for i, item in enumerate(node):
            yield (*path, i), item
            yield from places(item, (*path, i))


def unpacked(data):
    """The manifest and the arrays of a file."""
    archive = zipfile.ZipFile(io.BytesIO(data))
    manifest = json.loads(archive.read("manifest.json"))
    count = len(archive.namelist()) - 1
    return manifest, [np.lib.format.read_array(io.BytesIO(archive.read(f"{i}.npy"))) for i in range(count)]


def packed(manifest, arrays):
    """The bytes of a file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        for i, array in enumerate(arrays):
            member = io.BytesIO()
            np.lib.format.write_array(member, np.ascontiguousarray(array) if array.ndim else array)
            archive.writestr(f"{i}.npy", member.getvalue())
    return buffer.getvalue()


def changes(data):
    """Manifests and arrays with one entry changed, and what was done to it."""
    manifest, arrays = unpacked(data)
    entries = [place for place in places(manifest["object"]) if place[0] not in (("params",), ("state",))]
    by_path = dict(entries)
    for path, node in entries:
        others = list(PLAIN)
        siblings = [item for other, item in by_path.items() if other[:-1] == path[:-1] and other != path]
        for value in [*others, *siblings]:
            yield replaced(manifest, path, value), arrays, f"{path} = {str(value)[:60]}"
        yield without(manifest, path), arrays, f"{path} left out"
        if isinstance(node, dict) and "$array" in node:
            for array in changed_arrays(arrays[node["$array"]]):
                mixed = [*arrays[: node["$array"]], array, *arrays[node["$array"] + 1 :]]
                yield manifest, mixed, f"{path} = {array.dtype} {array.shape} {array.ravel()[:4]}"
        if path[-1] == "state" and isinstance(node, dict):
            yield replaced(manifest, path, {}), arrays, f"{path} emptied"
            for name, value in by_path.get((*path[:-1], "params"), {}).items():
                yield replaced(manifest, (*path, name), value), arrays, f"{path} with the parameter {name}"


def replaced(manifest, path, value):
    manifest = copy.deepcopy(manifest)
    node = manifest["object"]
    for name in path[:-1]:
        node = node[name]
    node[path[-1]] = value
    return manifest


def without(manifest, path):
    manifest = replaced(manifest, path, None)
    node = manifest["object"]
    for name in path[:-1]:
        node = node[name]
    del node[path[-1]]
    return manifest


def attack(obj, use, step):
    """Try one in `step` changes; returns how many were refused, how many were not, and what went wrong."""
    data = dumps(obj)
    loads(data)
    refused, accepted, wrong = 0, 0, []
    for manifest, arrays, what in itertools.islice(changes(data), None, None, step):
        mutated = packed(manifest, arrays)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            found = loads(mutated, max_bytes=10**9)
        except ValueError:
            refused += 1
            continue
        except Exception as error:
            wrong.append(f"{what}: {type(error).__name__} {error}")
            continue
        accepted += 1
        if type(found) is not type(obj) or (obj.get_state() and not found.get_state()):
            continue  # not fitted any more, which is seen at once
        try:
            dumps(found)
            use(found)
            loads(dumps(found))
        except Exception as error:
            line = traceback.extract_tb(error.__traceback__)[-1]
            wrong.append(
                f"{what}: accepted, then {type(error).__name__} {str(error)[:200]} at {line.name}:{line.lineno}"
            )
    faulthandler.cancel_dump_traceback_later()
    return refused, accepted, wrong


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    one_in, chosen = int(sys.argv[1]), sys.argv[2:]
    bad = 0
    for subject, used in subjects():
        name = type(subject).__name__
        if chosen and name not in chosen:
            continue
        n_refused, n_accepted, problems = attack(subject, used, one_in)
        bad += len(problems)
        lines = [f"{name}: {n_refused} refused, {n_accepted} accepted", *problems]
        sys.stdout.write("\n  ".join(lines) + "\n")
        sys.stdout.flush()
    sys.exit(bad > 0)
