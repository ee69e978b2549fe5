"""What cannot be written is noticed before the work."""

import pytest

import baserate
import baserate.demo

from .ended import status_of

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_a_folder_that_cannot_be_written_is_noticed_before_the_work(capsys, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    monkeypatch.setattr(baserate.demo, "train_model", lambda *_: pytest.fail("the work had begun"))
    assert status_of("demo") == 2
    assert capsys.readouterr().err.endswith("(Permission denied); name another.\n")
