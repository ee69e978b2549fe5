"""The frame of a page, its looks and its colours: one file that asks for nothing from outside."""

import re
from collections.abc import Mapping
from html import escape

LIGHT = {"ink": "#1d232b", "rule": "#d9dde2", "truth": "#a3a9b1"}
DARK = {"ink": "#e4e7eb", "rule": "#3a414b", "truth": "#7d8590"}
# Okabe and Ito's colours, which the colour-blind can tell apart, made darker for paper and lighter for the dark.
LIGHT |= {"line0": "#0072b2", "line1": "#c65100", "line2": "#00875f", "line3": "#a8447f", "line4": "#8a6d00"}
DARK |= {"line0": "#56b4e9", "line1": "#ff8f4d", "line2": "#2fc79d", "line3": "#e79bc8", "line4": "#e3c02c"}
_CSS = """
:root { color-scheme: light dark; --page: #fff; --soft: #f4f6f8; --good: #00623f; PALETTE }
@media screen and (prefers-color-scheme: dark) { :root { --page: #14181d; --soft: #1e242b; --good: #4fdcae; NIGHT } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 72rem; background: var(--page); color: var(--ink);
  font: 1.05rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", sans-serif }
h1 { font-size: clamp(1.6rem, 5vw, 2.4rem); line-height: 1.15; margin: .5rem 0 1rem }
h2 { font-size: 1.5rem; margin: 3rem 0 .25rem; padding-top: 1rem; border-top: 1px solid var(--rule) }
p, dl, .lead { max-width: 44rem }
.lead { font-size: 1.2rem }
.finding { border-left: .3rem solid var(--good); padding-left: 1rem }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1rem 2rem }
figure { margin: 0 }
figure svg { display: block; width: 100%; height: auto; stroke-linejoin: round }
figure text { font-family: inherit !important }
figcaption { font-size: .9rem }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; margin: 1rem 0; list-style: none;
  font-size: .95rem }
.legend svg { width: 2rem; height: .7rem; margin-right: .4rem }
.scroll { overflow-x: auto; margin: 1rem 0 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .95rem }
caption { text-align: left; padding-bottom: .4rem; font-weight: 600 }
th, td { padding: .3rem .8rem; text-align: right; vertical-align: bottom }
th:first-child { text-align: left; padding-left: .4rem }
thead th { border-bottom: 2px solid var(--ink); line-height: 1.25 }
tbody th { font-weight: normal; white-space: nowrap }
tbody tr + tr > * { border-top: 1px solid var(--rule) }
.marked > * { font-weight: 700; background: var(--soft) }
.marked em { font-style: normal; color: var(--good) }
dt { font-weight: 600; margin-top: .6rem }
dd { margin: 0 }
code { font: .9em ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; overflow-wrap: anywhere }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--rule); font-size: .9rem }
@media (max-width: 40rem) { th, td { padding: .3rem } table { font-size: .8rem } tbody th { white-space: normal }
  .lead { font-size: 1.1rem } figure text { font-size: 12.5px !important } }
@media print { html { font-size: 9pt } body { max-width: none; padding: 0 } .figures { grid-template-columns: 1fr 1fr }
  section, table { break-inside: avoid } h2 { break-after: avoid; margin-top: 1rem } }
"""


def render(title: str, body: str, *, css: str = "") -> str:
    """A page.

    Parameters
    ----------
    title : str
        The title of the window.
    body : str
        The page's elements.
    css : str
        Rules for this page alone.
    """
    rules = _CSS.replace("PALETTE", _variables(LIGHT)).replace("NIGHT", _variables(DARK)) + css
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{rules}</style>
</head>
<body>
{body}
</body>
</html>
"""


def scrolling(table: str, label: str) -> str:
    """A table that a narrow screen can move sideways, by touch or by keyboard."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">{table}</div>'


def definitions(entries: Mapping[str, str]) -> str:
    """Names and what they mean, as items of a list; what is in backticks is set as code."""
    texts = {name: re.sub(r"`(.+?)`", r"<code>\1</code>", escape(text)) for name, text in entries.items()}
    return "\n".join(f"<dt>{escape(name)}</dt><dd>{text}</dd>" for name, text in texts.items())


def _variables(palette: Mapping[str, str]) -> str:
    return " ".join(f"--{name}: {value};" for name, value in palette.items())
