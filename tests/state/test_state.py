"""Files: whole or not at all, never another program's, never code."""

import contextlib
import copy
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import zipfile

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from baserate import Bank, load, save
from baserate.adapters import RegressAndReweight
from baserate.adapters._waiting import Waiting
from baserate.state import SCHEMA, Component, dumps, fingerprint, loads
from baserate.trackers import FLHFTL, FollowTheFixedWindow, FollowTheHistory, LastSighting


class Box(Component):
    """Holds anything."""

    def __init__(self, content=None, estimator=None):
        self.content = content
        self.estimator = estimator


@pytest.mark.parametrize(
    "content",
    [
        None,
        True,
        3,
        0.1 + 0.2,
        float("inf"),
        "text ü",
        [1, [2.5, "x"], None],
        (1, (2, 3)),
        {"a": {"b": [1]}},
        np.float64(1 / 3),
        np.int8(-3),
        np.array(7.5),
        np.arange(6, dtype=np.int16).reshape(2, 3),
        np.array([[True, False]]),
        np.array(["a", "bcd"]),
        np.asfortranarray(np.random.default_rng(0).random((3, 4))),
        np.empty((0, 3)),
        FollowTheHistory(2),
        [FLHFTL(3), {"deep": FollowTheHistory(4)}],
    ],
    ids=repr,
)
def test_what_goes_in_comes_out(content):
    out = loads(dumps(Box(content))).content
    assert type(out) is type(content)
    assert dumps(Box(out)) == dumps(Box(content))
    if isinstance(content, np.ndarray | np.generic):
        assert out.dtype == content.dtype
        np.testing.assert_array_equal(out, content)
    elif not isinstance(content, Component | list):
        assert out == content


@pytest.mark.parametrize("kind", ["PCG64", "MT19937", "Philox", "SFC64"])
def test_random_generators_go_on_where_they_were(kind):
    generator = np.random.Generator(getattr(np.random, kind)(5))
    generator.random(7)
    twin = loads(dumps(Box(generator))).content
    np.testing.assert_array_equal(twin.random(50), generator.random(50))
    np.testing.assert_array_equal(twin.integers(9, size=50), generator.integers(9, size=50))


def test_moved_objects_nested_in_parameters_keep_their_state():
    tracker = FollowTheHistory(2)
    tracker.update([0.1, 0.9])
    np.testing.assert_array_equal(loads(dumps(Box(tracker))).content.predict(), tracker.predict())


@pytest.mark.parametrize(
    "content", [object(), {1: 2}, {"$array": 1}, np.array([object()]), 1j, {1, 2}, len], ids=lambda c: type(c).__name__
)
def test_what_is_not_plain_data_is_refused(content, tmp_path):
    with pytest.raises(TypeError, match="cannot save"):
        save(Box(content), tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("thing", [3, "text", LogisticRegression(), object()], ids=lambda c: type(c).__name__)
def test_only_registered_objects_are_saved(thing, tmp_path):
    with pytest.raises(TypeError, match="cannot save"):
        save(thing, tmp_path / "file")


@pytest.fixture
def file(tmp_path):
    tracker = FLHFTL(3)
    for z in np.random.default_rng(0).dirichlet(np.ones(3), size=20):
        tracker.update(z)
    save(tracker, tmp_path / "tracker.baserate")
    return tmp_path / "tracker.baserate"


def test_every_truncation_is_noticed(file):
    data = file.read_bytes()
    for length in [0, 1, 10, len(data) // 2, len(data) - 30, len(data) - 1]:
        file.write_bytes(data[:length])
        with pytest.raises(ValueError, match="truncated or damaged"):
            load(file)


def test_every_flipped_byte_is_noticed_or_harmless(file):
    data = bytearray(file.read_bytes())
    good = dumps(load(file))
    for place in range(0, len(data), 7):
        damaged = bytearray(data)
        damaged[place] ^= 0xFF
        with contextlib.suppress(ValueError):
            assert dumps(loads(bytes(damaged))) == good


def _archive(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("_", "."), text)
    return buffer.getvalue()


def _state_file(**changes):
    return _archive(manifest_json=json.dumps({"format": "baserate", "schema": SCHEMA, "version": "9.0", **changes}))


def _object(name, **params):
    return {"$class": name, "layout": 1, "params": params, "state": {}}


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "not a baserate state file"),
        (b"hello world", "not a baserate state file"),
        (pickle.dumps({"a": 1}), "not a baserate state file"),
        (_archive(a_txt="x"), "no manifest"),
        (_archive(manifest_json="not json"), "damaged"),
        (_archive(manifest_json="[1]"), "another format"),
        (_state_file(format="other"), "another format"),
        (_state_file(schema=SCHEMA + 1), f"schema {SCHEMA + 1}, written by baserate 9.0.*Upgrade"),
        (_state_file(schema=1), "before the first release.*fit anew"),
        (_state_file(schema="x"), "schema"),
        (_state_file(), "damaged"),
        (_state_file(object=_object("os.system")), "not known here"),
        (_state_file(object=_object("baserate.trackers.FLHFTL")), "not known here"),
        (_state_file(object=_object(["flhftl"])), "damaged"),
        (_state_file(object={**_object("flhftl"), "layout": 2}), "layout 2, written by baserate 9.0.*up to 1.*Upgrade"),
        (_state_file(object={**_object("flhftl"), "layout": None}), "layout None"),
        (_state_file(object=_object("flhftl", nope=1)), "damaged"),
        (_state_file(object={"$array": 7, "scalar": False}), "damaged"),
        (_state_file(object={"$generator": {"bit_generator": "os"}}), "unknown kind"),
    ],
)
def test_foreign_files_are_refused(data, complaint, tmp_path):
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(ValueError, match=complaint) as caught:
        load(tmp_path / "file")
    assert str(tmp_path / "file") in str(caught.value)


def test_arrays_of_objects_are_never_unpickled():
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(
            "manifest.json",
            json.dumps({"format": "baserate", "schema": SCHEMA, "object": {"$array": 0, "scalar": False}}),
        )
        archive.writestr("0.npy", buffer.getvalue())
    with pytest.raises(ValueError, match=r"[Oo]bject arrays|damaged"):
        loads(data.getvalue())


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        save(FollowTheHistory(2), tmp_path / "nowhere" / "file")


def test_a_failed_write_leaves_the_old_file_and_no_other(file, monkeypatch):
    before = file.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save(FLHFTL(3), file)
    assert file.read_bytes() == before
    assert [p.name for p in file.parent.iterdir()] == [file.name]


def test_killed_while_saving_leaves_a_whole_file(tmp_path):
    """A process that does nothing but save is killed; what is there loads."""
    script = textwrap.dedent("""
        import sys, numpy as np, baserate
        from baserate.trackers import FLHFTL
        tracker = FLHFTL(50)
        for z in np.random.default_rng(0).dirichlet(np.ones(50), size=2000):
            tracker.update(z)
        baserate.save(tracker, sys.argv[1])
        print("go", flush=True)
        while True:
            baserate.save(tracker, sys.argv[1])
    """)
    path = tmp_path / "state"
    for delay in (0.0, 0.003, 0.011):
        child = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE)
        child.stdout.readline()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=delay)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        assert load(path)._t == 2000


def test_permissions_follow_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        save(FollowTheHistory(2), tmp_path / "file")
    finally:
        os.umask(old)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_a_foreign_model_is_handed_over_again(tmp_path):
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    model, other = LogisticRegression().fit(X, y), LogisticRegression(C=0.01).fit(X, y)
    path = tmp_path / "file"
    save(Box(content=5, estimator=model), path)
    assert b"coef" not in path.read_bytes()
    loaded = load(path, estimator=model)
    assert loaded.estimator is model
    assert loaded.content == 5
    with pytest.raises(ValueError, match="estimator=model"):
        load(path)
    with pytest.raises(ValueError, match="another model"):
        load(path, estimator=other)
    with pytest.raises(ValueError, match="classifier"):
        load(path, estimator=model, classifier=other)


def _models():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.where(X[:, 0] > 0, "b", "a")
    return {
        "logistic": LogisticRegression().fit(X, y),
        "pipeline": make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y.astype(object)),
        "forest": RandomForestClassifier(5, random_state=0).fit(X, y),
        "boosted": HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2).fit(X, y),
        "search": GridSearchCV(LogisticRegression(), {"C": [1, 2]}, cv=2).fit(X, y),
        "net": MLPClassifier((3,), max_iter=3).fit(X, y),
        "xgboost": xgboost.XGBClassifier(n_estimators=3, n_jobs=1).fit(X, y == "b"),
        "lightgbm": lightgbm.LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1).fit(X, y),
    }


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_model_is_known_again_after_pickling_in_another_process(tmp_path):
    """Who saves a running object keeps the model elsewhere, commonly as a pickle."""
    models = _models()
    (tmp_path / "models").write_bytes(pickle.dumps(models))
    script = (
        "import pickle, sys; from baserate.state import fingerprint\n"
        "models = pickle.load(open(sys.argv[1], 'rb'))\n"
        "print('\\n'.join(fingerprint(model) for model in models.values()))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "models")], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == [fingerprint(model) for model in models.values()]
    assert len(set(run.stdout.split())) == len(models)
    assert fingerprint(FrozenEstimator(models["net"])) == fingerprint(models["net"])


def test_the_fingerprint_sees_a_small_change():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = RandomForestClassifier(5, random_state=0).fit(X, X[:, 0] > 0)
    before = fingerprint(model)
    model.estimators_[3].tree_.value[0, 0, 0] += 1e-9
    assert fingerprint(model) != before


def test_equal_states_have_equal_bytes():
    trackers = [FLHFTL(3), FLHFTL(3)]
    for tracker in trackers:
        tracker.update([0.2, 0.3, 0.5])
    assert dumps(trackers[0]) == dumps(trackers[1])
    trackers[0].update([0.2, 0.3, 0.5])
    assert dumps(trackers[0]) != dumps(trackers[1])


def _edited(obj, change):
    """The bytes of an object, its manifest changed by hand."""
    data = io.BytesIO(dumps(obj))
    edited = io.BytesIO()
    with zipfile.ZipFile(data) as old, zipfile.ZipFile(edited, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "manifest.json":
                manifest = json.loads(content)
                change(manifest["object"])
                content = json.dumps(manifest)
            new.writestr(name, content)
    return edited.getvalue()


@pytest.mark.parametrize(
    "tracker", [FollowTheHistory(3), FollowTheFixedWindow(3), LastSighting(3), FLHFTL(3)], ids=repr
)
def test_arrays_that_do_not_fit_are_refused(tracker):
    """Compiled code does not check bounds, so a file must not bring arrays of another size."""

    def more_classes(node):
        node["params"]["n_classes"] = 2_000

    with pytest.raises(ValueError, match="holds"):
        loads(_edited(tracker, more_classes))


def test_a_birth_value_that_does_not_fit_is_refused():
    for tracker in (FollowTheHistory(3), FLHFTL(3)):
        tracker._default_birth = np.full(2, 0.5)
        with pytest.raises(ValueError, match="_default_birth"):
            loads(dumps(tracker))


def test_an_adapter_with_parts_that_do_not_fit_is_refused():
    two, three = (RegressAndReweight(FollowTheHistory(k)).fit(0.7 * np.eye(k) + 0.3 / k, np.arange(k)) for k in (2, 3))
    for name in ("source_prior_", "_prior", "_offsets", "_bounds", "tracker_"):
        mixed = copy.deepcopy(three)
        setattr(mixed, name, getattr(two, name))
        with pytest.raises(ValueError, match="holds"):
            loads(dumps(mixed))


def test_a_bank_with_arrays_that_do_not_fit_is_refused():
    bank = Bank(RegressAndReweight(FollowTheHistory(2)).fit(0.7 * np.eye(2) + 0.15, [0, 1]))
    bank.step(["a", "b"], np.full((2, 2), 0.5))

    def more_keys(node):
        node["state"]["_keys"].append("c")

    with pytest.raises(ValueError, match="holds"):
        loads(_edited(bank, more_keys))


@pytest.mark.parametrize("name", ["baserate.__main__.main", "baserate.cli.main", "baserate._version.__version__"])
def test_nothing_but_classes_of_public_modules_is_touched(name, capsys):
    def other_class(node):
        node["$class"] = name

    with pytest.raises(ValueError, match="not known here"):
        loads(_edited(FollowTheHistory(2), other_class))
    assert capsys.readouterr().out == ""


def test_a_file_loads_before_anything_else_was_imported(tmp_path):
    save(Waiting(5), tmp_path / "file")
    script = "import sys, baserate; print(type(baserate.load(sys.argv[1])).__name__)"
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "file"], capture_output=True, text=True, check=True)
    assert done.stdout == "Waiting\n"


def test_a_file_names_classes_and_no_place_in_the_code(file):
    """So that a module can move."""
    bank = Bank(RegressAndReweight().fit(0.7 * np.eye(2) + 0.15, [0, 1]))
    for data in (file.read_bytes(), dumps(bank)):
        assert b'"$class": "' in data
        assert b"baserate." not in data


def test_a_class_that_moved_is_found_by_its_name():
    class Here(Component, saved_as="test_moving"):
        """Knows a number."""

        def __init__(self, number=0):
            self.number = number

    data = dumps(Here(5))
    Here.__module__ = "some.other.place"
    assert loads(data).number == 5
    assert dumps(Here(5)) == data


def test_a_name_belongs_to_one_class():
    with pytest.raises(TypeError, match=r"under which baserate\.trackers\.flhftl\.FLHFTL is saved"):

        class Impostor(Component, saved_as="flhftl"):
            pass

    assert type(loads(dumps(FLHFTL(3)))) is FLHFTL


@pytest.mark.parametrize("name", ["", "a.b", "Box", "a b", "ü", "1a"])
def test_a_name_is_plain(name):
    with pytest.raises(TypeError, match="expected lower-case letters"):

        class Unnameable(Component, saved_as=name):
            pass


def test_a_name_is_not_inherited():
    class Child(FollowTheHistory):
        pass

    assert type(loads(dumps(FollowTheHistory(2)))) is FollowTheHistory
    assert type(loads(dumps(Child(2)))) is Child


class Grown(Component, saved_as="test_grown", layout=3):
    """Kept a width in layout 1, width and height in layout 2, an area since."""

    def __init__(self, unit="m"):
        self.unit = unit
        self.area = 0.0

    @classmethod
    def upgrade(cls, layout, params, state):
        height = state.get("height", 1.0)
        return {"unit": params.get("unit", "m")}, {"area": state["width"] * height}


class Outgrown(Component, saved_as="test_outgrown", layout=2):
    """Reads its present layout only."""


def _of_layout(layout, name="test_grown", params=None, **state):
    node = {"$class": name, "layout": layout, "params": params or {}, "state": state}
    return _state_file(object=node)


def test_older_layouts_are_upgraded():
    assert loads(_of_layout(1, width=5.0)).area == 5.0
    assert loads(_of_layout(2, width=5.0, height=2.0, params={"unit": "ft"})).area == 10.0
    assert loads(_of_layout(3, area=7.0)).area == 7.0
    assert '"layout": 3' in zipfile.ZipFile(io.BytesIO(dumps(Grown()))).read("manifest.json").decode()


def test_older_layouts_that_cannot_be_upgraded_say_so():
    with pytest.raises(ValueError, match="a test_outgrown of layout 1, which this version does not read any more"):
        loads(_of_layout(1, "test_outgrown"))
    with pytest.raises(ValueError, match=r"layout 4, written by baserate 9.0; this version reads up to 3\. Upgrade"):
        loads(_of_layout(4, area=1.0))


def test_states_are_not_shared():
    first = FollowTheHistory(2)
    first.update([0.1, 0.9])
    second = FollowTheHistory(2).set_state(first.get_state())
    second.update([0.9, 0.1])
    np.testing.assert_allclose(first.predict(), [0.1, 0.9])


def test_a_class_that_is_defined_again_keeps_its_old_instances():
    def define():
        class Cell(Component):
            pass

        return Cell

    old, new = define()(), define()()
    assert type(loads(dumps(old))) is type(new)
