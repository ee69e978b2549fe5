"""Packages of the public registries that carry data, fetched by their ordinary clients and unpacked, not installed."""

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ARCHIVES = (".tar.gz", ".tgz", ".whl", ".zip")
"""How the names of the archives end that `unpack` knows."""

_PATIENCE = 900  # seconds; the largest package has 140 MB


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a tar archive, a zip file or a wheel. Nothing of it lands outside the folder."""
    if not hasattr(tarfile, "data_filter"):
        raise OSError("this Python cannot unpack archives safely; use 3.11.4 or newer")
    try:
        if archive.suffix in {".zip", ".whl"}:
            with zipfile.ZipFile(archive) as zipped:
                zipped.extractall(folder)
        else:
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
    except OSError:
        raise
    except Exception as error:  # what is damaged, encrypted or packed in an unknown way raises nearly anything
        raise OSError(f"{archive.name} is damaged, or cannot be unpacked here: {error}") from error


@dataclass(frozen=True)
class Archive:
    """An archive that is here already."""

    path: Path

    @property
    def title(self) -> str:
        return self.path.name

    @property
    def command(self) -> str:
        return f"unpack {self.path}"

    def get(self, folder: Path) -> None:
        """Put its files into a folder."""
        unpack(self.path, folder)


def run(command: Sequence[str], folder: Path) -> None:
    """Run a client in a folder; what it says is shown only if it fails."""
    client = shutil.which(command[0])
    if client is None:
        raise OSError(f"{command[0]} is not installed")
    try:
        done = subprocess.run(
            [client, *command[1:]],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired as error:
        raise OSError(f"{command[0]} did not finish within {_PATIENCE} seconds") from error
    if done.returncode:
        raise OSError(f"it failed: {_complaint(done.stderr or done.stdout) or f'exit code {done.returncode}'}")


def _complaint(said: str) -> str:
    """The line in which npm, pip or apt says what is wrong: its first error, or else the last it said."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return next(
        (line for line in lines if re.match(r"(npm error|error|e):? ", line, re.IGNORECASE)), "".join(lines[-1:])
    )


def _only_file(folder: Path) -> Path:
    """The file that a client has put into an empty folder."""
    files = [path for path in folder.iterdir() if path.is_file()]
    if len(files) != 1:
        raise OSError(f"expected one file to be fetched, got {len(files)}")
    return files[0]


@dataclass(frozen=True)
class NpmPackage:
    """A package of npm. Fetching it runs nothing that is in it."""

    name: str
    version: str

    @property
    def title(self) -> str:
        return f"{self.name} {self.version} with npm"

    @property
    def command(self) -> str:
        return f"npm pack {self.name}@{self.version}"

    def get(self, folder: Path) -> None:
        """Put the package's files into an empty folder."""
        run([*self.command.split(), "--fetch-retries=1", "--loglevel=error"], folder)
        unpack(_only_file(folder), folder)


@dataclass(frozen=True)
class PipPackage:
    """A Python package.

    pip may run the set-up script of a source archive to learn its name, and fetches for that what the script is built
    with, in whatever version is current. The archive is pinned by a checksum of its own, so that no other script is run
    than the one it had when the checksum was taken; what it is built with is not pinned. A wheel runs nothing.
    """

    name: str
    version: str
    sha256: str
    options: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.name} {self.version} with pip"

    @property
    def command(self) -> str:
        return " ".join(["python -m pip download --no-deps", *self.options, f"{self.name}=={self.version}"])

    def get(self, folder: Path) -> None:
        """Put the package's files into an empty folder."""
        wanted = folder / "wanted.txt"
        wanted.write_text(f"{self.name}=={self.version} --hash=sha256:{self.sha256}\n")
        client = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--retries=1", "--timeout=15"]
        run([*client, "download", "--no-deps", *self.options, "--requirement", wanted.name], folder)
        wanted.unlink()
        unpack(_only_file(folder), folder)


@dataclass(frozen=True)
class DebianPackage:
    """A package of Debian. A release has one version of it, so none is named here: the arrays' checksum decides."""

    name: str

    @property
    def title(self) -> str:
        return f"Debian's {self.name} with apt-get"

    @property
    def command(self) -> str:
        return f"apt-get download {self.name} && dpkg-deb -x {self.name}_*.deb ."

    def get(self, folder: Path) -> None:
        """Put the package's files into an empty folder."""
        run(["apt-get", "download", self.name], folder)
        run(["dpkg-deb", "-x", _only_file(folder).name, "."], folder)
