"""Messages of the library, with the names of files."""

from baserate.files.class_names import in_words_of_files
from baserate.files.columns import Classes

ANIMALS = Classes(["p_cat", "p_dog", "p_eel"], ["cat", "dog", "eel"])
FRAUD = Classes(["score"], ["fraud", "good"], positive=0)
ORDER = (
    "the model is worse than chance on the holdout: the labels in y fit proba far better with class {} (area under the "
    "ROC curve 0.90 instead of 0.10). Are the columns of proba in the order of model.classes_?"
)


def test_numbers_of_classes_become_names():
    assert in_words_of_files("few of class 1, 2; more", ANIMALS) == "few of 'dog', 'eel'; more"
    assert in_words_of_files("(classes 0, 2, ...)", ANIMALS) == "('cat', 'eel', ...)"
    assert in_words_of_files("class 7", ANIMALS) == "class 7"


def test_columns_in_another_order():
    said = in_words_of_files(ORDER.format("1 in column 2, 2 in column 1"), ANIMALS)
    assert "'dog' that of p_eel, 'eel' that of p_dog" in said
    assert "in the order of model.classes_?" in said
    assert "proba" not in said


def test_a_score_of_the_other_class():
    said = in_words_of_files(ORDER.format("0 in column 1, 1 in column 0"), FRAUD)
    assert "rows of 'fraud' have lower values of score than rows of 'good'" in said
    assert "give --positive good" in said


def test_a_message_of_other_words_is_kept():
    assert "model.classes_" in in_words_of_files(
        "Are the columns in the order of model.classes_? 9 in column 8", ANIMALS
    )
