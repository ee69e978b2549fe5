"""Messages of the library in the words of files: classes by their names, and columns by theirs."""

import re

from baserate.backtesting.sentence import with_names
from baserate.files.columns import Classes


def in_words_of_files(text: str, classes: Classes) -> str:
    """A message that has classes and columns by number, with their names instead.

    Examples
    --------
    >>> in_words_of_files("class 1 is rare.", Classes(["p_ham", "p_spam"], ["ham", "spam"]))
    "'spam' is rare."
    """
    if "model.classes_" in text:
        return _in_another_order(text, classes) or with_names(text, classes.names)
    if "confusion matrix of this holdout is singular" in text:
        return _says_nothing(classes)
    return with_names(text, classes.names)


def _says_nothing(classes: Classes) -> str:
    """The message about a holdout whose labels have nothing to do with its scores."""
    if classes.positive is None:
        what, column = "the columns of probabilities say", "the right columns are given with --columns"
    else:
        what, column = f"column {classes.columns[0]} says", "--score names the column of the model's score"
    return (
        f"{what} nothing about the labels of the labelled rows, as if all rows had one score. Check that {column}, and "
        "that scores and labels are of the same rows."
    )


def _in_another_order(text: str, classes: Classes) -> str:
    """The message about a holdout whose labels fit the columns in another order; empty if it is not understood."""
    k, names = len(classes.names), "|".join(re.escape(repr(name)) for name in classes.names)
    places = {repr(name): place for place, name in enumerate(classes.names)}
    found = [
        (places[one] if one in places else int(one), int(other))
        for one, other in re.findall(rf"({names}|\d+) in column (\d+)", text)
    ]
    if not found or max(map(max, found)) >= k:
        return ""
    start = "the model does worse than chance on the labels"
    if classes.positive is not None:
        positive, negative = classes.names[classes.positive], classes.names[1 - classes.positive]
        return (
            f"{start}: rows of {positive!r} have lower values of {classes.columns[0]} than rows of {negative!r}. If it "
            f"is the probability of {negative!r}, give --positive {negative}; else check the labels."
        )
    pairs = ", ".join(f"{classes.names[one]!r} that of {classes.columns[other]}" for one, other in found)
    return (
        f"{start}: each class should have the column that is named after it, and the labels fit others far better: "
        f"{pairs}. Are the columns in the order of model.classes_? Rename them, or correct the labels."
    )
