"""The error of a file that is whole, but cannot be used."""


class UnreadableError(ValueError):
    """A reason why a state file cannot be used here, worded to follow the file's name."""
