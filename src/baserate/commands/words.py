"""Words that come in from the command line, and those that go out to it."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from baserate.files.columns import Classes


# Advice that takes Python, and what is left of it for those who have a command.
_ADVICE = (
    (r",? or [^.,]*calibrator=(None|'auto'\))", ""),
    (r" \(baserate\.[\w.]+\)", ""),
    (r": baserate\.trust\.merge_classes\(.*?\]\)", ""),
    (r"Use a calibrator \(calibrator='auto'\), a more flexible one, or a larger holdout", "Use a larger holdout"),
    (
        r"Use a calibrator with biases \(BCTS\), or give the source_prior that the model was trained on",
        "Check that the holdout has the class mix that the model was trained on",
    ),
)


def split_names(text: str | None) -> tuple[str, ...]:
    """Names with commas between them.

    Examples
    --------
    >>> split_names("p_a, p_b"), split_names(None)
    (('p_a', 'p_b'), ())
    """
    return tuple(name.strip() for name in text.split(",")) if text else ()


def as_note(text: str, classes: "Classes | None" = None) -> str:
    """A warning of the library with the names of classes, and without advice for which there is no option.

    Examples
    --------
    >>> as_note("It is small. Label more samples, or calibrate elsewhere and pass calibrator=None.")
    'It is small. Label more samples.'
    """
    if classes is not None:
        from baserate.files.class_names import in_words_of_files  # slow to import

        text = in_words_of_files(text, classes)
    for advice, instead in _ADVICE:
        text = re.sub(advice, instead, text)
    return text
