"""The positive class: named, usual, or asked for."""

import pytest

from baserate.files.positive import positive_class


@pytest.mark.parametrize(
    ("names", "place"), [(["0", "1"], 1), (["1", "0"], 0), (["True", "False"], 0), (["no", "Yes"], 1)]
)
def test_a_class_with_a_usual_name_is_found(names, place):
    assert positive_class(names) == place


def test_the_named_class_wins_over_a_usual_name():
    assert positive_class(["0", "1"], "0") == 0


@pytest.mark.parametrize(
    ("names", "positive", "said"),
    [
        (["fraud", "good"], None, "Add --positive fraud or --positive good"),
        (["no fraud", "fraud"], None, "Add --positive 'no fraud' or --positive fraud"),
        (["yes", "1"], None, "which class is the positive one"),
        (["fraud", "good"], "Fraud", "--positive Fraud is no class; give one of fraud, good"),
        (["a", "b", "c"], "a", "this one has 3: a, b, c"),
    ],
)
def test_anything_else_is_asked_for(names, positive, said):
    with pytest.raises(ValueError, match=said):
        positive_class(names, positive)
