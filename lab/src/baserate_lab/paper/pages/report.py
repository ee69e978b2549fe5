"""Report of a run: one self-contained HTML file."""

import os
from html import escape

from baserate.reports import page
from baserate.state import write_atomically
from baserate_lab.paper.pages import html, names
from baserate_lab.paper.pages.machine import machine, versions
from baserate_lab.paper.pages.run import Reproduction
from baserate_lab.paper.pages.summary import READING, Summary, summarise

_TITLE = "The paper's tables and figures, and ours"
_CSS = """
figure { max-width: 42rem }
.over-time { grid-template-columns: minmax(0, 46rem) }
h3 { margin: 2rem 0 .25rem }
nav ol { columns: 18rem; padding-left: 1.5rem }
nav li { break-inside: avoid; margin-bottom: .2rem }
a { color: var(--line0) }
.where { margin-top: 0; font-size: .95rem; opacity: .8 }
.tables { display: flex; flex-wrap: wrap; gap: 0 2rem }
.tables .scroll { max-width: 100% }
.tables table { font-size: .88rem }
.tables th, .tables td { padding: .25rem .4rem; white-space: nowrap }
.tables thead th + th { padding-right: 1.3rem }
sup { display: inline-block; width: 1.1em; text-align: left; line-height: 0; font-weight: 700 }
.mark2 { color: var(--line1) }
.paper { display: block; font-size: .85em; opacity: .8; padding-right: 1.1em; margin-top: -.25em }
.text, .counts th { text-align: left }
tbody th, tbody td { vertical-align: top }
.counts td:nth-child(2) { white-space: nowrap }
.claims { list-style: none; padding: 0; max-width: 44rem }
.claims li { margin: .5rem 0 }
.claims strong { margin-right: .3em }
.claims strong::after { content: ":" }
.holds { color: var(--good) }
.fails { color: var(--line1) }
.open { opacity: .75 }
.evidence { opacity: .8; font-size: .95em }
details { margin: 1rem 0 }
summary { cursor: pointer; font-weight: 600 }
.bad { border-left-color: var(--line1) }
@media (min-width: 40rem) { dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.2rem }
  dt { margin: 0; max-width: 16rem } }
@media print { nav, summary { display: none } .tables { gap: 0 1.5rem } section { break-inside: auto }
  h3, .legend { break-after: avoid } figure { break-inside: avoid }
  details::details-content { content-visibility: visible; display: block } }
"""


def render(run: Reproduction) -> str:
    """Render the page. The same run on the same machine gives the same page, byte for byte."""
    found = summarise(run)
    contents = "".join(
        f'<li><a href="#{escape(part.artefact.name)}">{escape(part.artefact.title)}</a></li>' for part in run.artefacts
    )
    body = f"""<main>
<h1>{_TITLE}</h1>
{_summary(run, found)}
<nav aria-label="Contents"><h2>Contents</h2><ol>{contents}</ol></nav>
<h2>How to read the tables</h2>
<dl>{page.definitions(READING)}</dl>
{"".join(html.section(part) for part in run.artefacts)}
</main>
<footer>
<p>Baby et al., “Online Label Shift: Optimal Dynamic Regret meets Practical Algorithms”, NeurIPS 2023.</p>
</footer>"""
    return page.render(f"{_TITLE} | baserate", body, css=_CSS)


def write(run: Reproduction, path: str | os.PathLike[str]) -> None:
    """Write the page to a file atomically."""
    write_atomically(path, render(run).encode())


def _summary(run: Reproduction, found: Summary) -> str:
    agree, compared, _ = found.total
    lead = f'<p class="lead finding{"" if agree == compared else " bad"}">{_unbroken(found.sentence)}</p>'
    sentences = (found.gains_sentence, found.left_out, found.claims_sentence)
    lines = [lead, *(f"<p>{_unbroken(text)}</p>" for text in sentences if text)]
    lines += [html.counts(run, found), html.differing(found)] if found.datasets else []
    if found.claims:
        lines += ["<h3>Checks</h3>", html.claims(found.claims)]
    made = ", ".join(f"{name} {number}" for name, number in versions().items())
    facts = {
        "command": f"`{run.command}`",
        "time": names.took(run.seconds, run.in_methods),
        "seeds": found.seeds_sentence,
        "machine": machine(),
        "versions": made,
    }
    return "\n".join([*lines, "<h3>How it was made</h3>", f"<dl>{page.definitions(facts)}</dl>"])


def _unbroken(text: str) -> str:
    return escape(text).replace(" %", "&nbsp;%")
