"""The one door through which data come in: the cache, a folder of the user's, the official place, a package."""

import os
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from baserate.cache import cache_folder
from baserate.datasets._arrays import Arrays, checksum, read_arrays, write_arrays

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
    """How files of a data set lie in a folder, each perhaps with a suffix added, and how they are read."""

    files: tuple[str, ...]
    reader: Callable[[Path], Arrays]
    suffix: str = ""

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
        Where its files are. Default: the folder of that name in the one that ``BASERATE_DATA`` names, if it is there.

    Raises
    ------
    DataNotFoundError
        The data are not in the folder that was named; or no folder was named, and every way failed.
    WrongDataError
        The arrays are not the ones they should be. Nothing is kept.
    """
    path = cache_folder("datasets", recipe.name) / "arrays.npz"
    place = _named_folder(recipe, folder)
    kept = read_arrays(path, recipe.sha256)
    # Arrays with a known checksum are the same wherever they came from; others only if they came from that folder.
    if kept is not None and (recipe.sha256 or place is None or kept.origin == str(place)):
        return kept.arrays
    if kept is None and path.exists():
        _say(f"{recipe.name}: what the cache holds is damaged or of another version; getting the data anew")
    arrays, origin = _read_folder(recipe, place) if place is not None else _fetch(recipe)
    found = checksum(arrays)
    if recipe.sha256 not in (None, found):
        raise WrongDataError(
            f"{recipe.name} from {origin} is not the data set: the SHA-256 of its arrays is {found}, expected "
            f"{recipe.sha256}. Get the files anew from {recipe.page}."
        )
    write_arrays(path, arrays, origin)
    return arrays


def _named_folder(recipe: Recipe, folder: str | os.PathLike[str] | None) -> Path | None:
    """The folder that the user names, by argument or by the environment."""
    if folder is not None:
        return Path(folder).expanduser().resolve()
    root = os.environ.get(VARIABLE)
    place = Path(root).expanduser().resolve() / recipe.name if root else None
    return place if place is not None and place.is_dir() else None


def _read_folder(recipe: Recipe, folder: Path) -> tuple[Arrays, str]:
    for layout, _ in recipe.ways:
        if (place := layout.find(folder)) is not None:
            return layout.read(place), str(folder)
    raise DataNotFoundError(f"{folder} does not hold {recipe.name}. {_by_hand(recipe)}")


def _fetch(recipe: Recipe) -> tuple[Arrays, str]:
    """Try each way, the first that works wins."""
    failures = []
    for layout, getter in recipe.ways:
        if getter is None:
            continue
        _say(f"{recipe.name}: fetching {getter.title}")
        try:
            with tempfile.TemporaryDirectory(prefix="baserate-") as scratch:
                getter.get(Path(scratch))
                place = layout.find(Path(scratch))
                if place is None:
                    raise OSError(f"it did not bring {layout}")
                return layout.read(place), getter.title
        except OSError as error:
            failures.append(f"- {getter.title}: {str(error).strip() or type(error).__name__}")
    tried = "\nTried:\n" + "\n".join(failures) if failures else ""
    raise DataNotFoundError(f"the data set {recipe.name} is not here. {_by_hand(recipe)}{tried}")


def _by_hand(recipe: Recipe) -> str:
    """What a person can do."""
    lines = [f"It is published at {recipe.page}. By hand, do one of:"]
    for layout, getter in recipe.ways:
        command = f": {getter.command}" if getter is not None else ""
        lines.append(f"- get {layout}{command}")
    lines.append(
        f"Then name the folder they are in: load(folder=...). Or put them into the folder {recipe.name} of the one "
        f"that the environment variable {VARIABLE} names."
    )
    return "\n".join(lines)


def _say(line: str) -> None:
    """One line for the person who waits, on standard error."""
    from rich.console import Console

    Console(stderr=True).print(line, style="dim", markup=False, highlight=False, soft_wrap=True)
