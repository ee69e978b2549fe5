"""Every block of code on every page is run, in the order of the page, with what it prints compared.

Python is run as doctest where it has prompts, else as a script; `console` blocks are typed, and what stands below
a command is what it must print (`...` for what may differ). A block below the comment ``<!-- checked: WHY -->``
takes hours, a server or a network: its commands and options must exist, and its Python must compile.
"""

import contextlib
import doctest
import importlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
import typer

from baserate.cli import app

from .pages import ROOT, blocks, pages

ELSEWHERE = {  # pages whose blocks another test runs, because it says more about what comes out
    "docs/howto/adapt.md": "tests/project/test_docs_adapt.py",
    "docs/howto/label_requests.md": "tests/project/test_docs_label_requests.py",
    "docs/howto/reports.md": "tests/project/test_docs_reports.py",
}
KNOWN = {
    "",
    "python",
    "console",
    "bash",
    "sql",
    "js",
    "java",
    "go",
    "c",
    "scala",
    "json",
    "yaml",
    "toml",
    "ini",
    "text",
}
DOCTEST = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
COMMANDS = ("baserate", "pip", "python", "make", "curl", "docker", "sqlite3", "spark-submit")
pytestmark = [
    pytest.mark.filterwarnings("ignore::baserate.trust.HoldoutWarning"),
    pytest.mark.filterwarnings("default::DeprecationWarning"),
]
WITH_CODE = [page for page in pages() if any(b.language in ("python", "console", "bash") for b in blocks(page))]


@pytest.mark.parametrize("page", pages())
def test_blocks_say_what_they_are(page):
    """So that no command hides from the tests in a block without a language."""
    for block in blocks(page):
        plain = block.language.strip("{}")
        assert block.language != plain or plain in KNOWN, f"{page}:{block.line}: {plain}"
        if block.language == "" and not re.match(r"baserate \w+, [\d,]+ rows", block.text):  # a table of speeds
            words = [line.removeprefix("$ ").split()[0] for line in block.text.splitlines()[:1] if line.strip()]
            assert not set(words) & set(COMMANDS), f"{page}:{block.line} is a command: write ```console and $"


def typed(text):
    """The commands of a block, each with what it prints below."""
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], []])
        elif found and found[-1][0].endswith("\\"):
            found[-1][0] = found[-1][0][:-1] + line.strip()
        elif found:
            found[-1][1].append(line)
    return [(re.sub(r"\s+#.*", "", command), "\n".join(said)) for command, said in found]


def known_option(words):
    """The command of ours exists and understands its words."""
    command, context = typer.main.get_command(app), click.Context(typer.main.get_command(app))
    name = words[1] if len(words) > 1 else ""
    if name.startswith("-") or not name:
        return
    if name == "reproduce":
        importlib.import_module("baserate_lab.commands.reproduce")
        return
    assert name in command.list_commands(context), f"no command {name}"
    found = command.get_command(context, name)
    for word in words[2:]:
        if word not in getattr(found, "commands", {}):
            break
        found = found.commands[word]
    options = {option for parameter in found.params for option in (*parameter.opts, *parameter.secondary_opts)}
    used = {word.partition("=")[0] for word in words if word.startswith("-") and word != "-"}
    assert used <= options | {"--help"}, used - options


def check_command(line):
    """What a command line names exists: our options, targets of make, extras, modules."""
    words = [word for word in shlex.split(line) if not re.fullmatch(r"[A-Z_0-9]+=\S*", word)]
    if words[0] == "baserate":
        known_option(words)
    elif words[0] == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert {word for word in words[1:] if "=" not in word} <= set(targets), line
    elif words[0] == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        for names in re.findall(r"\[([\w,]+)\]", line):
            assert set(names.split(",")) <= set(extras), line
    elif words[:2] == ["python", "-m"]:
        assert importlib.util.find_spec(words[2]), line
    elif words[0] == "python":
        assert (ROOT / words[1]).exists(), line
    else:
        assert words[0] in COMMANDS, f"{line}: what is {words[0]}?"


def run_command(line):
    """Type a command; returns what it prints. What installs or builds is checked, not typed."""
    first = line.split()[0]
    if first in ("pip", "make"):
        check_command(line)
        return None
    if first == "python" and not re.match(r"python -[cm]", line):
        line = line.replace("python ", f"python {shlex.quote(str(ROOT))}/", 1)
    bash = shutil.which("bash")
    places = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": places, "COLUMNS": "120", "NO_COLOR": "1"}
    done = subprocess.run([bash, "-c", line], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, (line, done.stdout, done.stderr)
    return done.stdout


def same(said, expected):
    """What was printed is what the page says."""
    return doctest.OutputChecker().check_output(expected.strip() + "\n", said.strip() + "\n", DOCTEST)


@pytest.mark.parametrize("page", [page for page in WITH_CODE if page not in ELSEWHERE])
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for block in blocks(page):
        place = f"{page}:{block.line}"
        if block.language == "python" and ">>>" in block.text:
            test = doctest.DocTestParser().get_doctest(block.text, names, place, place, block.line)
            told = io.StringIO()
            runner = doctest.DocTestRunner(optionflags=DOCTEST, verbose=False)
            runner.run(test, out=told.write, clear_globs=False)
            names = test.globs
            assert runner.failures == 0, told.getvalue()
        elif block.language == "python":
            code = compile(block.text, place, "exec")
            if block.why is None:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(code, names)
        elif block.language == "bash":  # commands over several lines, for a server
            assert block.why, place
            subprocess.run(["bash", "-n", "-c", block.text], check=True)
        elif block.language == "console":
            for line, expected in typed(block.text):
                if block.why is not None:
                    check_command(line)
                    continue
                said = run_command(line)
                assert said is None or not expected or same(said, expected), f"{place}: {line} printed\n{said}"


@pytest.mark.parametrize("page", ELSEWHERE)
def test_what_is_run_elsewhere_is(page):
    assert page.rpartition("/")[2] in (ROOT / ELSEWHERE[page]).read_text()


def other(language):
    """Blocks of another language, with their page."""
    return [pytest.param(b.text, id=f"{p}:{b.line}") for p in pages() for b in blocks(p) if b.language == language]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize("text", other("js"))
def test_javascript_compiles(text, tmp_path):
    (tmp_path / "block.mjs").write_text(text)
    subprocess.run(["node", "--check", str(tmp_path / "block.mjs")], check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("javac") is None, reason="needs javac")
@pytest.mark.parametrize("text", other("java"))
def test_java_compiles(text, tmp_path):
    code = "import java.net.*; import java.net.http.*; import java.util.*;\n"
    code += "class Block { static void run(String key) throws Exception {\n"
    (tmp_path / "Block.java").write_text(code + text + "}}")
    done = subprocess.run(["javac", "-d", str(tmp_path), str(tmp_path / "Block.java")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_few_blocks_are_only_checked():
    """And each says why."""
    checked = [(page, b.line) for page in pages() for b in blocks(page) if b.why is not None]
    every = [b for page in pages() for b in blocks(page) if b.language in ("python", "console", "bash")]
    assert len(checked) < len(every) / 3, checked
    assert len(every) > 60
