"""Words that come in from the command line, and those that go out to it."""

import re


def split_names(text: str | None) -> tuple[str, ...]:
    """Names with commas between them.

    Examples
    --------
    >>> split_names("p_a, p_b"), split_names(None)
    (('p_a', 'p_b'), ())
    """
    return tuple(name.strip() for name in text.split(",")) if text else ()


def as_note(text: str) -> str:
    """A warning of the library without advice that is about Python, for which there is no option.

    Examples
    --------
    >>> as_note("It is small. Label more samples, or calibrate elsewhere and say calibrator=None.")
    'It is small. Label more samples.'
    """
    without = re.sub(r",? or [^.,]*calibrator=None", "", text)
    return re.sub(r" \(baserate\.[\w.]+\)", "", without)
