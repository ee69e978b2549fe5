"""``baserate serve`` before it serves."""

import subprocess
import sys

import pytest

pytest.importorskip("starlette")


def run(*words):
    return subprocess.run(
        [sys.executable, "-m", "baserate", "serve", *words], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--data DIR"),
        (("--data", "x", "--log-level", "loud"), "--log-level"),
        (("--data", "x", "--port", "99999"), "--port"),
        (("--data", "/proc/none"), "/proc/none"),
        (("--data", "x", "--store", "mysql://x"), "--store"),
        (("--check", "--data", "/nothing/here"), "no streams"),
        (("keys", "create", "--scope", "all", "--data", "x"), "scope"),
        (("keys", "revoke", "nobody", "--data", "x"), "no key named"),
        (("keys", "list"), "--data DIR"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_line(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = run(*words)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1


def test_keys_are_made_listed_and_revoked(tmp_path):
    folder = ("--data", str(tmp_path))
    secret = run("keys", "create", "--scope", "adapt", "--name", "me", *folder).stdout.strip()
    assert secret.startswith("br_")
    assert run("keys", "list", *folder).stdout.startswith("me\tadapt\t")
    again = run("keys", "create", "--scope", "adapt", "--name", "me", *folder)
    assert "there is a key named" in again.stderr
    assert run("keys", "revoke", "me", *folder).returncode == 0
    assert run("keys", "list", *folder).stdout == ""
    assert run("--check", *folder).stdout == "0 streams, all of them whole.\n"
