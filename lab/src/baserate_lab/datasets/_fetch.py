"""Loading the arrays of a data set from the cache, a folder of the user, the official site or a package."""

import hashlib
import os
import tempfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from baserate_lab.cache import VARIABLE as CACHE_VARIABLE
from baserate_lab.cache import cache_folder, cache_path
from baserate_lab.datasets._arrays import Arrays, checksum, read_arrays, write_arrays
from baserate_lab.datasets._packages import ARCHIVES, Archive

VARIABLE = "BASERATE_DATA"
"""Environment variable that names a folder with one folder per data set."""

_DEPTH = 4  # levels of folders that are searched for files, as archives and packages have folders of their own


class DataNotFoundError(OSError):
    """Error: the data could not be found or fetched. The message says how to get them."""


class WrongDataError(ValueError):
    """Error: the data that were read are not the data set, because their checksum differs."""


class Getter(Protocol):
    """A way to get files: its title, the command a person would run, and the code that does it."""

    @property
    def title(self) -> str: ...

    @property
    def command(self) -> str: ...

    def get(self, folder: Path) -> None: ...


@dataclass(frozen=True)
class Layout:
    """Names of a data set's files in a folder, suffixes that may follow them, and the function that reads them.

    The note is shown to a person who has to get the files by hand.
    """

    files: tuple[str, ...]
    reader: Callable[[Path], Arrays]
    suffix: str = ""
    note: str = ""

    def __str__(self) -> str:
        few = len(self.files) <= 8
        return ", ".join(self.files) if few else f"{self.files[0]} to {self.files[-1]} ({len(self.files)} in all)"

    def find(self, folder: Path) -> Path | None:
        """The folder, or the first folder below it, that has all the files."""
        for place, below, _ in os.walk(folder):
            here = Path(place)
            if all((here / name).exists() or (here / f"{name}{self.suffix}").exists() for name in self.files):
                return here
            below.sort()
            if len(here.relative_to(folder).parts) >= _DEPTH:
                below.clear()
        return None

    def read(self, folder: Path) -> Arrays:
        """Read the files; any failure is raised as an OSError."""
        try:
            return self.reader(folder)
        except (ValueError, LookupError, TypeError, AttributeError, EOFError, zlib.error) as error:
            raise OSError(f"{self} in {folder} cannot be read: {type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class DatasetRecipe:
    """Ways to obtain one data set.

    Parameters
    ----------
    name : str
        Name of the data set, and of its folder in the cache.
    page : str
        Web page of the data set, for people.
    ways : tuple of (Layout, Getter or None)
        In the order in which they are tried. None: by hand only, into a folder.
    sha256 : str, optional
        Checksum of the arrays, whatever their origin. Default: unknown, and any arrays are accepted.
    """

    name: str
    page: str
    ways: tuple[tuple[Layout, Getter | None], ...]
    sha256: str | None = None


def obtain(recipe: DatasetRecipe, folder: str | os.PathLike[str] | None = None) -> Arrays:
    """Get the arrays of a data set, check them and store them in the cache.

    Parameters
    ----------
    recipe : DatasetRecipe
        The data set.
    folder : path, optional
        Folder of its files, or of an archive with them. Default: the data set's folder in the one named by
        ``BASERATE_DATA``, if it exists.

    Raises
    ------
    NotADirectoryError
        If `folder` is not a folder.
    DataNotFoundError
        If the data are not in the given folder; or, without a folder, if every way to get them failed.
    WrongDataError
        If the checksum differs. Nothing is stored then.
    """
    place = named_folder(recipe, folder)
    origin = None if place is None else str(place) if recipe.sha256 else f"{place} {_stamp(place)}"
    path = cache_path("datasets", recipe.name, "arrays.npz")
    kept = read_arrays(path, recipe.sha256)
    if kept is not None and (place is None or kept.origin == origin):
        return kept.arrays
    # With a known checksum the origin does not matter: arrays in the cache are used as they are.
    if kept is not None and recipe.sha256 and place is not None and _find(recipe, place) is not None:
        return kept.arrays
    if kept is None and os.access(path, os.F_OK):
        _say(f"{recipe.name}: what the cache holds is damaged or of another version; getting the data anew")
    arrays, way = _read_folder(recipe, place) if place is not None else _fetch(recipe)
    try:
        write_arrays(cache_folder("datasets", recipe.name) / path.name, arrays, origin or way)
    except OSError as error:  # still return the data, perhaps after a long download
        _say(
            f"{recipe.name}: the data cannot be kept for the next time ({error}); the environment variable "
            f"{CACHE_VARIABLE} names the folder of the cache"
        )
    return arrays


def named_folder(recipe: DatasetRecipe, folder: str | os.PathLike[str] | None) -> Path | None:
    """The folder named by the user, as an argument or in the environment."""
    if folder is not None:
        place = Path(folder).expanduser().resolve()
        if not place.is_dir():
            raise NotADirectoryError(
                f"there is no folder {place}; name the one that holds the files of {recipe.name}, or name none."
            )
        return place
    root = os.environ.get(VARIABLE)
    place = Path(root or "").expanduser().resolve() / recipe.name
    return place if root and place.is_dir() else None


def _stamp(folder: Path) -> str:
    """A stamp that changes with any file in a folder: names, sizes and times."""
    digest = hashlib.sha256()
    for place, below, files in os.walk(folder):
        below.sort()
        for entry in (Path(place, name) for name in (*below, *sorted(files))):
            if entry.exists():  # not a broken link
                status = entry.stat()
                digest.update(f"{str(entry)!r} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _find(recipe: DatasetRecipe, folder: Path) -> tuple[Layout, Path] | None:
    """The first layout found in a folder, and where."""
    for layout, _ in recipe.ways:
        if (place := layout.find(folder)) is not None:
            return layout, place
    return None


def _check(recipe: DatasetRecipe, arrays: Arrays, way: str) -> tuple[Arrays, str]:
    found = checksum(arrays)
    if recipe.sha256 not in (None, found):
        raise WrongDataError(
            f"{recipe.name} from {way} is not the data set: the SHA-256 of its arrays is {found}, expected "
            f"{recipe.sha256}. Get the files anew from {recipe.page}."
        )
    return arrays, way


def _read_folder(recipe: DatasetRecipe, folder: Path) -> tuple[Arrays, str]:
    """Read files in a folder, or else in an archive there, as clients leave it when run by hand."""
    if (found := _find(recipe, folder)) is not None:
        layout, place = found
        return _check(recipe, layout.read(place), str(folder))
    archives = [Archive(path) for path in sorted(folder.iterdir()) if path.name.endswith(ARCHIVES)]
    layouts = dict.fromkeys(layout for layout, _ in recipe.ways)
    ways = ((layout, archive) for archive in archives for layout in layouts)
    return _first(recipe, ways, "unpacking", f"{folder} does not hold {recipe.name}.")


def _fetch(recipe: DatasetRecipe) -> tuple[Arrays, str]:
    ways = ((layout, getter) for layout, getter in recipe.ways if getter is not None)
    return _first(recipe, ways, "fetching", f"the data set {recipe.name} is not here.")


def _first(
    recipe: DatasetRecipe, ways: Iterable[tuple[Layout, Getter]], doing: str, complaint: str
) -> tuple[Arrays, str]:
    """Try each way, and return the data of the first that works."""
    failures: list[tuple[str, Exception]] = []
    for layout, getter in ways:
        _say(f"{recipe.name}: {doing} {getter.title}")
        try:
            with tempfile.TemporaryDirectory(prefix="baserate-") as scratch:
                getter.get(Path(scratch))
                place = layout.find(Path(scratch))
                if place is None:
                    raise OSError(f"it did not bring {layout}")
                return _check(recipe, layout.read(place), getter.title)
        except (OSError, WrongDataError) as error:
            failures.append((getter.title, error))
    if failures and all(isinstance(failure, WrongDataError) for _, failure in failures):
        raise WrongDataError("\n".join(str(failure) for _, failure in failures))
    tried = "\nTried:" if failures else ""
    for title, failure in failures:
        tried += f"\n- {title}: {str(failure).strip() or type(failure).__name__}"
    raise DataNotFoundError(f"{complaint} {_by_hand(recipe)}{tried}")


def _by_hand(recipe: DatasetRecipe) -> str:
    """Instructions for getting the data by hand."""
    lines = [f"It is published at {recipe.page}. By hand, do one of:"]
    for layout, getter in recipe.ways:
        command = f": {getter.command}" if getter is not None else ""
        lines.append(f"- get {layout}{layout.note}{command}")
    lines.append(
        f"Then name the folder they are in, unpacked or not: load(folder=...). Or put them into the folder "
        f"{recipe.name} of the one that the environment variable {VARIABLE} names."
    )
    return "\n".join(lines)


def _say(line: str) -> None:
    """Print a line on standard error."""
    from rich.console import Console

    Console(stderr=True).print(line, style="dim", markup=False, highlight=False, soft_wrap=True)
