"""The one door through which data come in: the cache, a folder of the user's, the official place, a package."""

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
"""Environment variable: a folder that has one folder per data set, by name."""

_DEPTH = 4  # how far below a folder its files are looked for: archives and packages have folders of their own


class DataNotFoundError(OSError):
    """The data could not be had; says how to get them."""


class WrongDataError(ValueError):
    """What was read is not the data set: its checksum differs from the one that is known."""


class Getter(Protocol):
    """A way to get files: what it is called, what a person would do, and doing it."""

    @property
    def title(self) -> str: ...

    @property
    def command(self) -> str: ...

    def get(self, folder: Path) -> None: ...


@dataclass(frozen=True)
class Layout:
    """How files of a data set lie in a folder, each perhaps with a suffix added, and how they are read.

    The note is for the person who is told to get them.
    """

    files: tuple[str, ...]
    reader: Callable[[Path], Arrays]
    suffix: str = ""
    note: str = ""

    def __str__(self) -> str:
        few = len(self.files) <= 8
        return ", ".join(self.files) if few else f"{self.files[0]} to {self.files[-1]} ({len(self.files)} in all)"

    def find(self, folder: Path) -> Path | None:
        """The folder itself or the first one below it that has all the files."""
        for place, below, _ in os.walk(folder):
            here = Path(place)
            if all((here / name).exists() or (here / f"{name}{self.suffix}").exists() for name in self.files):
                return here
            below.sort()
            if len(here.relative_to(folder).parts) >= _DEPTH:
                below.clear()
        return None

    def read(self, folder: Path) -> Arrays:
        """What the files hold. Whatever is wrong with them is an OSError, as if they could not be opened."""
        try:
            return self.reader(folder)
        except (ValueError, LookupError, TypeError, AttributeError, EOFError, zlib.error) as error:
            raise OSError(f"{self} in {folder} cannot be read: {type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class Recipe:
    """How one data set is obtained.

    Parameters
    ----------
    name : str
        Name of the data set, and of its folder in the cache.
    page : str
        Where the data set is published, for people.
    ways : tuple of (Layout, Getter or None)
        In the order in which they are tried. None: by hand alone, into a folder.
    sha256 : str, optional
        Of the arrays that are read. It decides, wherever they came from. Default: not known, anything is taken.
    """

    name: str
    page: str
    ways: tuple[tuple[Layout, Getter | None], ...]
    sha256: str | None = None


def obtain(recipe: Recipe, folder: str | os.PathLike[str] | None = None) -> Arrays:
    """The arrays of a data set, checked, and kept for the next time.

    Parameters
    ----------
    recipe : Recipe
        What to obtain, and how.
    folder : path, optional
        Where its files are, or an archive that has them. Default: the folder of that name in the one that
        ``BASERATE_DATA`` names, if it is there.

    Raises
    ------
    NotADirectoryError
        What was named is not a folder.
    DataNotFoundError
        The data are not in the folder that was named; or no folder was named, and every way failed.
    WrongDataError
        The arrays are not the ones they should be. Nothing is kept.
    """
    place = named_folder(recipe, folder)
    origin = None if place is None else str(place) if recipe.sha256 else f"{place} {_stamp(place)}"
    path = cache_path("datasets", recipe.name, "arrays.npz")
    kept = read_arrays(path, recipe.sha256)
    if kept is not None and (place is None or kept.origin == origin):
        return kept.arrays
    # Arrays with a known checksum are the same wherever they came from: they need not be read again, only be there.
    if kept is not None and recipe.sha256 and place is not None and _find(recipe, place) is not None:
        return kept.arrays
    if kept is None and os.access(path, os.F_OK):
        _say(f"{recipe.name}: what the cache holds is damaged or of another version; getting the data anew")
    arrays, way = _read_folder(recipe, place) if place is not None else _fetch(recipe)
    try:
        write_arrays(cache_folder("datasets", recipe.name) / path.name, arrays, origin or way)
    except OSError as error:  # the data are here, perhaps after a long download
        _say(
            f"{recipe.name}: the data cannot be kept for the next time ({error}); the environment variable "
            f"{CACHE_VARIABLE} names the folder of the cache"
        )
    return arrays


def named_folder(recipe: Recipe, folder: str | os.PathLike[str] | None) -> Path | None:
    """The folder that the user names, by argument or by the environment."""
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
    """Changes when anything in a folder does: names, sizes and times of all that is in it."""
    digest = hashlib.sha256()
    for place, below, files in os.walk(folder):
        below.sort()
        for entry in (Path(place, name) for name in (*below, *sorted(files))):
            if entry.exists():  # not a link to nowhere
                status = entry.stat()
                digest.update(f"{str(entry)!r} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _find(recipe: Recipe, folder: Path) -> tuple[Layout, Path] | None:
    """The first layout that a folder has, and where."""
    for layout, _ in recipe.ways:
        if (place := layout.find(folder)) is not None:
            return layout, place
    return None


def _check(recipe: Recipe, arrays: Arrays, way: str) -> tuple[Arrays, str]:
    found = checksum(arrays)
    if recipe.sha256 not in (None, found):
        raise WrongDataError(
            f"{recipe.name} from {way} is not the data set: the SHA-256 of its arrays is {found}, expected "
            f"{recipe.sha256}. Get the files anew from {recipe.page}."
        )
    return arrays, way


def _read_folder(recipe: Recipe, folder: Path) -> tuple[Arrays, str]:
    """Files that are in a folder, or else in an archive there: what the clients bring when they are run by hand."""
    if (found := _find(recipe, folder)) is not None:
        layout, place = found
        return _check(recipe, layout.read(place), str(folder))
    archives = [Archive(path) for path in sorted(folder.iterdir()) if path.name.endswith(ARCHIVES)]
    layouts = dict.fromkeys(layout for layout, _ in recipe.ways)
    ways = ((layout, archive) for archive in archives for layout in layouts)
    return _first(recipe, ways, "unpacking", f"{folder} does not hold {recipe.name}.")


def _fetch(recipe: Recipe) -> tuple[Arrays, str]:
    ways = ((layout, getter) for layout, getter in recipe.ways if getter is not None)
    return _first(recipe, ways, "fetching", f"the data set {recipe.name} is not here.")


def _first(recipe: Recipe, ways: Iterable[tuple[Layout, Getter]], doing: str, complaint: str) -> tuple[Arrays, str]:
    """Try each way, the first that brings the data wins."""
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


def _by_hand(recipe: Recipe) -> str:
    """What a person can do."""
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
    """One line for the person who waits, on standard error."""
    from rich.console import Console

    Console(stderr=True).print(line, style="dim", markup=False, highlight=False, soft_wrap=True)
