"""Makes pages that read well on GitHub read well here: links that leave the folder, and tables that are too wide."""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
PAGES = {
    "changelog": "CHANGELOG.md",
    "reference/contributing": "CONTRIBUTING.md",
    "reference/security": "SECURITY.md",
    "results/laboratory": "lab/README.md",
}
"""Pages whose text is a file outside the folder."""


def read(app: Sphinx, name: str, source: list[str]) -> None:
    """Take the text of a page from where it is, and let links that leave the folder lead to a page of the site."""
    here = ROOT / "docs" / f"{name}.md"
    if name in PAGES:
        here = ROOT / PAGES[name]
        source[0] = here.read_text()
    if here.suffix != ".md" or name.startswith(("reference/api", "examples")):
        return

    def lead(match: re.Match[str]) -> str:
        link, _, part = match[2].partition("#")
        path = (here.parent / link).resolve()
        if not link or ":" in link or (name not in PAGES and path.is_relative_to(ROOT / "docs")):
            return match[0]
        return f"{match[1]}{_page(path)}{f'#{part}' if part else ''})"

    source[0] = re.sub(r"(\]\()([^)\s]+)\)", lead, source[0])


def _page(path: Path) -> str:
    """The page of the site that shows a file of the repository."""
    told = path.relative_to(ROOT)
    if told.parts[0] == "docs":
        inside = told.relative_to("docs")
        return "/" + (inside if inside.suffix else inside / "index.md").as_posix()
    if told.as_posix() == "README.md":
        return "/index.md"
    if told.parts[0] == "examples":
        return "/examples/" + (f"{told.stem}.rst" if told.suffix else "index.rst")
    for page, file in PAGES.items():
        if told.as_posix() == file:
            return f"/{page}.md"
    raise LookupError(f"no page shows {told}")


def wrap_tables(app: Sphinx, tree: nodes.document, name: str) -> None:
    """Put every table into a box that scrolls by itself, so that no page does."""
    for table in list(tree.findall(nodes.table)):
        box = nodes.container(classes=["wide"])
        table.replace_self(box)
        box += table


def setup(app: Sphinx) -> dict[str, bool]:
    """Register them."""
    app.connect("source-read", read)
    app.connect("doctree-resolved", wrap_tables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
