"""A user's outputs: what is read, what is refused, and that methods run on them as on our own."""

import json

import numpy as np
import pytest
from scipy.special import softmax

from baserate_lab.models.output_files import COMMITTED
from baserate_lab.paper.runs import own, problems
from baserate_lab.paper.runs.adapting import run_adapting
from baserate_lab.paper.runs.cells import PaperCell


def given(m=60, n=90, k=3, d=4, seed=0):
    rng = np.random.default_rng(seed)
    found = {"coef": rng.normal(size=(k, d)), "intercept": rng.normal(size=k)}
    for part, size in (("holdout", m), ("target", n)):
        found[f"{part}_features"] = rng.normal(size=(size, d))
        found[f"{part}_proba"] = softmax(found[f"{part}_features"] @ found["coef"].T + found["intercept"], axis=1)
        found[f"{part}_y"] = np.arange(size) % k
    return found


def plain(**changed):
    found = {name: array for name, array in given().items() if name.endswith(("_proba", "_y"))}
    return {name: array for name, array in (found | changed).items() if array is not None}


def taken(tmp_path, arrays, name="my model.npz"):
    np.savez(tmp_path / name, **arrays)
    return own.take(tmp_path / name)


def test_what_is_taken_is_read_again(tmp_path):
    name = taken(tmp_path, plain(class_names=np.array(["a", "b", "c"])))
    assert name.startswith("my-model-")
    found = own.read(name)
    for part in ("holdout", "target"):
        np.testing.assert_array_equal(getattr(found, part), plain()[f"{part}_proba"])
        np.testing.assert_array_equal(getattr(found, f"{part}_y"), plain()[f"{part}_y"])
    assert (found.class_names, found.in_time_order, found.layer) == (("a", "b", "c"), False, None)


def test_the_name_is_of_the_contents(tmp_path):
    once = taken(tmp_path, plain())
    assert taken(tmp_path, plain()) == once
    assert taken(tmp_path, plain(target_y=np.arange(90)[::-1] % 3)) != once


def test_logits_and_probabilities_are_the_same(tmp_path):
    proba = plain()["target_proba"]
    logits = {"target_logits": np.log(proba) + 2.0, "target_proba": None}
    np.testing.assert_allclose(own.read(taken(tmp_path, plain(**logits))).target, proba, rtol=1e-12)


def test_files_of_the_laboratory_are_taken(tmp_path):
    file = COMMITTED / "hapt-linear.npz"
    found = own.read(own.take(file))
    with np.load(file) as stored:
        said = json.loads(str(stored["metadata"]))
    assert list(found.class_names) == said["class_names"]
    assert found.in_time_order


def test_the_small_holdout_is_two_per_cent_or_ten_a_class(tmp_path):
    many, few = taken(tmp_path, given(m=3000, n=30)), taken(tmp_path, given(m=21, n=30))
    assert [(p.full, p.small) for p in map(problems.of_own_outputs, (many, few))] == [(3000, 60), (21, 21)]
    assert problems.find("own", many) == problems.of_own_outputs(many)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"target_y": None}, "target_y is missing; expected holdout_proba"),
        ({"holdout_proba": None}, "holdout_proba is missing"),
        ({"holdout_proba": np.full((60, 3), 0.9)}, "sum"),
        ({"holdout_y": np.zeros(60, dtype=int)}, "holdout_y: "),
        ({"holdout_y": np.arange(59) % 3}, "59"),
        ({"class_names": np.array(["a", "b"])}, "class_names has 2 names for 3 classes"),
        ({"target_proba": np.full((90, 2), 0.5), "target_y": np.arange(90) % 2}, "holdout has 3 classes, the target 2"),
        ({"target_proba": None, "target_logits": np.full((90, 3), np.inf)}, "target_logits must be"),
        ({"coef": np.ones((3, 4))}, "holdout_features is missing"),
    ],
)
def test_what_is_wrong_is_refused_with_the_file_and_the_reason(tmp_path, changed, words):
    with pytest.raises(ValueError, match=r"my model\.npz: ") as refused:
        taken(tmp_path, plain(**changed))
    assert words in str(refused.value)


def test_a_layer_must_give_the_probabilities(tmp_path):
    taken(tmp_path, given())
    with pytest.raises(ValueError, match=r"do not give the holdout's probabilities \(off by"):
        taken(tmp_path, given() | {"intercept": np.zeros(3)})
    with pytest.raises(ValueError, match=r"coef has shape \(2, 4\); expected \(3, 4\)"):
        taken(tmp_path, given() | {"coef": np.ones((2, 4))})


def test_what_is_no_archive_is_refused(tmp_path):
    (tmp_path / "x.npz").write_text("not one")
    with pytest.raises(ValueError, match="not a readable npz archive"):
        own.take(tmp_path / "x.npz")
    with pytest.raises(ValueError, match="not a readable npz archive"):
        taken(tmp_path, plain(class_names=np.array(["a", None, "c"], dtype=object)))


def test_outputs_that_are_not_in_the_cache_say_what_to_do():
    with pytest.raises(FileNotFoundError, match="--outputs"):
        own.read("nothing-123")


def test_methods_run_on_them_as_on_the_same_outputs_of_ours(tmp_path):
    """The committed outputs of hapt, once as a problem of the paper, once as a user's."""
    name = own.take(COMMITTED / "hapt-linear.npz")
    ours = PaperCell("hapt", "linear", "ber", 120, "FTH", 1, n_rounds=30)
    theirs = ours._replace(dataset="own", model=name)
    assert run_adapting(theirs)._replace(seconds=0) == run_adapting(ours)._replace(seconds=0)


def test_methods_that_update_the_last_layer_run_on_features(tmp_path):
    name = taken(tmp_path, given(m=300, n=300))
    for method in ("UOGD", "ROGD"):
        found = run_adapting(PaperCell("own", name, "ber", 60, method, 0, n_rounds=20))
        assert 0 <= found.error <= 100
