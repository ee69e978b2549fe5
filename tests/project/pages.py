"""The pages of the documentation, and the blocks of code on them."""

import re
import textwrap
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
MADE = {"_build", "_extensions", "api", "examples"}  # by the build

BLOCK = re.compile(
    r"^(?: *<!-- checked: (?P<why>[^\n]*?) -->\n)?"
    r"(?P<indent> *)```(?P<language>[\w{}-]*)[^\n]*\n(?P<text>.*?)^(?P=indent)```",
    re.DOTALL | re.MULTILINE,
)


class Block(NamedTuple):
    """A block of code: where it stands, what it is, and why it is only checked, if it is."""

    line: int
    language: str
    text: str
    why: str | None


def pages():
    """The names of all pages, from the root of the repository."""
    docs = [path.relative_to(ROOT) for path in sorted((ROOT / "docs").rglob("*.md"))]
    docs = [path.as_posix() for path in docs if not MADE & set(path.parts)]
    return ["README.md", "CONTRIBUTING.md", "SECURITY.md", "lab/README.md", *docs]


def blocks(page):
    """The blocks of a page, from top to bottom."""
    text = (ROOT / page).read_text()
    return [
        Block(text[: found.start()].count("\n") + 1, found["language"], textwrap.dedent(found["text"]), found["why"])
        for found in BLOCK.finditer(text)
    ]
