"""A section of the page where nothing can be drawn."""

import sys

from baserate_lab.paper.pages import html
from baserate_lab.paper.pages.run import ShownArtefact

from .made_up import HOLDOUT, record


def test_without_matplotlib_the_page_says_what_to_install(monkeypatch):
    for name in ("baserate.reports.figures", "baserate_lab.paper.pages.figures"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    section = html.section(ShownArtefact(HOLDOUT, [record(ours=4.5, holdout=50)], []))
    assert "pip install &quot;baserate[plot]&quot;" in section
    assert "4.50" in section
