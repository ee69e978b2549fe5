"""UnreadableError: the error of a file that is complete, but cannot be used."""


class UnreadableError(ValueError):
    """Reason why a state file cannot be used, worded to follow the file's name."""
