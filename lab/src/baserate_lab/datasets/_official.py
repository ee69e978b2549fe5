"""Files from the site where a data set was published; the only module that uses pooch."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from baserate_lab.datasets._packages import ARCHIVES, unpack

_CONNECT, _READ = 4, 60  # seconds; an unreachable host must not hold up the next way


def _pooch() -> Any:
    try:
        import pooch  # type: ignore[import-untyped]
    except ImportError as error:
        raise OSError("pooch is not installed: pip install 'baserate-lab'") from error
    return pooch


class Published(NamedTuple):
    """A file at an address, with its published checksum (``md5:...`` or ``sha256:...``)."""

    address: str
    checksum: str
    name: str = ""

    def file_name(self) -> str:
        """Local name of the file, as an address may not contain one."""
        return self.name or Path(urlsplit(self.address).path).name


@dataclass(frozen=True)
class Download:
    """Download of published files; archives are unpacked."""

    files: tuple[Published, ...]

    @property
    def title(self) -> str:
        return f"from {urlsplit(self.files[0].address).hostname}"

    @property
    def command(self) -> str:
        return "download " + ", ".join(f"{file.address}{file.name and f' as {file.name}'}" for file in self.files)

    def get(self, folder: Path) -> None:
        """Download the files into a folder."""
        pooch = _pooch()
        downloader = pooch.HTTPDownloader(timeout=(_CONNECT, _READ), chunk_size=1 << 20)
        log: logging.Logger = pooch.get_logger()
        level = log.level
        log.setLevel(logging.ERROR)  # this package prints its own messages
        try:
            for file in self.files:
                name = file.file_name()
                try:
                    path = pooch.retrieve(file.address, file.checksum, fname=name, path=folder, downloader=downloader)
                except ValueError as error:
                    raise OSError(f"{file.address} is not the published file ({error})") from error
                except OSError as error:  # the full text is about pools and retries
                    raise OSError(f"{file.address} cannot be had ({type(error).__name__})") from error
                if name.endswith(ARCHIVES):
                    unpack(Path(path), folder)
        finally:
            log.setLevel(level)
