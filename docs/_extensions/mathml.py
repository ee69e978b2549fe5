"""Formulas as MathML, which every browser of today shows by itself: no script, no font, no network."""

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def inline(self: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(self: Any, node: nodes.math_block) -> None:
    """Write a formula on lines of its own, which scrolls by itself where it is too wide."""
    self.body.append(f'<div class="formula" tabindex="0">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the two."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
