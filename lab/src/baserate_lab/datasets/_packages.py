"""Packages of public registries that contain data; fetched with their usual clients and unpacked, not installed."""

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
"""Suffixes of the archives that `unpack` can read."""

_PATIENCE = 900  # seconds; the largest package has 140 MB


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a tar archive, a zip file or a wheel; nothing is written outside the folder."""
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
    except Exception as error:  # a damaged or encrypted archive can raise anything
        raise OSError(f"{archive.name} is damaged, or cannot be unpacked here: {error}") from error


@dataclass(frozen=True)
class Archive:
    """An archive on disk."""

    path: Path

    @property
    def title(self) -> str:
        return self.path.name

    @property
    def command(self) -> str:
        return f"unpack {self.path}"

    def get(self, folder: Path) -> None:
        """Unpack it into a folder."""
        unpack(self.path, folder)


def run_client(command: Sequence[str], folder: Path) -> None:
    """Run a client in a folder; its output is shown only if it fails."""
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
    """The line in which npm, pip or apt names the error: the first error line, or else the last line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return next(
        (line for line in lines if re.match(r"(npm error|error|e):? ", line, re.IGNORECASE)), "".join(lines[-1:])
    )


def _only_file(folder: Path) -> Path:
    """The file that a client has written into an empty folder."""
    files = [path for path in folder.iterdir() if path.is_file()]
    if len(files) != 1:
        raise OSError(f"expected one file to be fetched, got {len(files)}")
    return files[0]


@dataclass(frozen=True)
class NpmPackage:
    """A package of npm. Fetching it runs no code of the package."""

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
        run_client([*self.command.split(), "--fetch-retries=1", "--loglevel=error"], folder)
        unpack(_only_file(folder), folder)


@dataclass(frozen=True)
class PipPackage:
    """A Python package.

    pip may run the setup script of a source archive to learn its name, and installs the current versions of the
    script's build requirements for that. The archive is pinned by a checksum, so only the script known at that time can
    run; its build requirements are not pinned. A wheel runs no code.
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
        run_client([*client, "download", "--no-deps", *self.options, "--requirement", wanted.name], folder)
        wanted.unlink()
        unpack(_only_file(folder), folder)


@dataclass(frozen=True)
class DebianPackage:
    """A package of Debian. Its version depends on the release, so only the checksum of the arrays is checked."""

    name: str

    @property
    def title(self) -> str:
        return f"Debian's {self.name} with apt-get"

    @property
    def command(self) -> str:
        return f"apt-get download {self.name} && dpkg-deb -x {self.name}_*.deb ."

    def get(self, folder: Path) -> None:
        """Put the package's files into an empty folder."""
        run_client(["apt-get", "download", self.name], folder)
        run_client(["dpkg-deb", "-x", _only_file(folder).name, "."], folder)
