"""The status that a command ends with."""

import pytest

from baserate.cli import main


def status_of(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code or 0
