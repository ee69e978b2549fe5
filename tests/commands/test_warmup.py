"""Compiling ahead: it says where the code is kept, and does not warn of its own made-up data."""

from typer.testing import CliRunner

from baserate.cli import app


def test_it_says_how_long_it_took_and_where_the_code_is(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    done = CliRunner().invoke(app, ["warmup"])
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    assert f"and kept in {tmp_path}." in " ".join(done.stdout.split())


def test_it_is_offered_by_the_help():
    shown = CliRunner().invoke(app, ["--help"]).stdout
    assert "warmup" in shown
