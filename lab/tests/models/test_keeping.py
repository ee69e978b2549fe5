"""Keeping makes the folder, and says what failed."""

from baserate_lab.models import _keeping


def test_keeping_makes_the_folder_and_says_what_failed(tmp_path, capsys):
    _keeping.keep(tmp_path / "a" / "b", b"x")
    assert (tmp_path / "a" / "b").read_bytes() == b"x"
    _keeping.keep(tmp_path / "a" / "b" / "c", b"x")  # below a file
    err = capsys.readouterr().err
    assert "could not be written" in err
    assert "going on without it" in err
