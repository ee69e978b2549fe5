"""Paths of output files: where a file ends up, and where it is written until it is complete."""

import os
import re
import secrets
from collections.abc import Collection
from pathlib import Path


def resolved(path: Path) -> Path:
    """The place of a file: what is written through a link goes to where the link leads."""
    return Path(os.path.realpath(path))


def same_file(one: Path, other: Path) -> bool:
    """Tell whether two paths lead to one file, which need not be there yet."""
    there = one.exists() and other.exists()
    return one.samefile(other) if there else resolved(one) == resolved(other)


def is_part(path: Path) -> bool:
    """Tell whether a path is named as `part_of` names files."""
    return re.fullmatch(r"\..+\.[0-9a-f]{8}\.part", path.name, re.DOTALL) is not None


def is_beside(path: Path, folders: Collection[Path]) -> bool:
    """Tell whether a path, as it is written, is that of a file in one of some folders, which are resolved."""
    return path.parent in folders and path.name not in ("", "..") and resolved(path.parent) == path.parent


def part_of(target: Path, token: str | None = None) -> Path:
    """The file beside a target that is written until it is complete.

    Parameters
    ----------
    target : path
        The place that the file will be moved to.
    token : str, optional
        The name of the attempt to write it. Default: a new one.
    """
    return target.with_name(f".{target.name}.{token or secrets.token_hex(4)}.part")
