"""The command line as a whole."""

import subprocess
import sys

import baserate

from .commands.ended import status_of


def test_help_is_quick_and_shows_what_there_is():
    code = (
        "import sys\nfrom baserate.cli import main\ntry: main()\nexcept SystemExit as end: assert not end.code\n"
        "slow = {'numpy', 'scipy', 'sklearn', 'numba', 'matplotlib'} & set(sys.modules)\nassert not slow, slow"
    )
    outputs = []
    for arguments in ([], ["--help"], ["-h"]):
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        outputs.append(done.stdout.strip())
    assert outputs[0] == outputs[1] == outputs[2]
    assert "demo" in outputs[0]
    assert "\x1b" not in outputs[0]


def test_version(capsys):
    assert status_of("--version") == 0
    assert capsys.readouterr().out == f"baserate {baserate.__version__}\n"
