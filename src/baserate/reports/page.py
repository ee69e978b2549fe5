"""The frame of a page, its looks and its colours: one file that asks for nothing from outside."""

import re
from collections.abc import Mapping
from html import escape, unescape

LIGHT = {"ink": "#1d232b", "rule": "#d9dde2", "truth": "#a3a9b1", "alarm": "#b3261e"}
DARK = {"ink": "#e4e7eb", "rule": "#3a414b", "truth": "#7d8590", "alarm": "#ff8a80"}
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
.kicker { margin: 0; font-size: .95rem; overflow-wrap: anywhere }
h1.headline { max-width: 56rem; font-size: clamp(1.3rem, 3.6vw, 1.9rem); line-height: 1.3; margin: .4rem 0 1.2rem;
  overflow-wrap: anywhere; text-wrap: balance }
.alarm { max-width: 56rem; margin: 1rem 0; padding: .2rem 1rem; border: .15rem solid var(--alarm);
  border-left-width: .6rem; background: color-mix(in srgb, var(--alarm) 8%, var(--page)); overflow-wrap: anywhere }
.alarm strong { color: var(--alarm) }
.calm::before { content: "✓ "; color: var(--good); font-weight: 700 }
.spark { width: 7rem; height: 1.6rem; vertical-align: middle }
.counts { display: flex; flex-wrap: wrap; gap: .6rem 2.2rem; padding: 0; margin: 1rem 0; list-style: none }
.counts b { display: block; font-size: 1.6rem; line-height: 1.2; font-variant-numeric: tabular-nums }
details { margin: 1rem 0 } summary { cursor: pointer; font-weight: 600 }
.whole { white-space: nowrap }
.when { font-size: .85em; white-space: nowrap; opacity: .8 }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1rem 2rem }
figure { margin: 0 } .figures figure { max-width: 42rem }
figure svg { display: block; width: 100%; height: auto; overflow: visible; stroke-linejoin: round }
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
  caption { max-width: calc(100vw - 2rem) } .lead { font-size: 1.1rem } .drawn, th:empty { display: none }
  figure text { font-size: 12.5px !important } }
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


def unbroken(sentence: str) -> str:
    """A sentence as elements; it is not broken before a percent sign, or within a short name that has hyphens.

    An arrow of two characters becomes one.
    """
    kept = re.sub(r"(?<!\S)[\w.-]{1,24}-[\w.]{1,24}(?![\w.-])", r'<span class="whole">\g<0></span>', escape(sentence))
    return kept.replace(" %", "&nbsp;%").replace("-&gt;", "→")


def definitions(entries: Mapping[str, str]) -> str:
    """Names and what they mean, as items of a list; what is in backticks is set as code."""
    texts = {name: re.sub(r"`(.+?)`", r"<code>\1</code>", escape(text)) for name, text in entries.items()}
    return "\n".join(f"<dt>{escape(name)}</dt><dd>{text}</dd>" for name, text in texts.items())


def glossary(entries: Mapping[str, str], body: str) -> str:
    """A section that explains the words of a page: those that its reader can see, and no others.

    Parameters
    ----------
    entries : mapping of str to str
        Terms and what they mean; a term may be several with commas between them.
    body : str
        The elements of the page. Words count as a whole, in either case, and of terms within terms only the longest.
    """
    text = " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())
    terms = sorted((term for entry in entries for term in entry.split(", ")), key=len, reverse=True)
    pattern = "|".join(rf"(?<!\w){re.escape(term)}(?!\w)" for term in terms)
    seen = {found.lower() for found in re.findall(pattern, text, re.IGNORECASE)}
    shown = {entry: told for entry, told in entries.items() if seen & set(entry.lower().split(", "))}
    return f"<h2>How to read this</h2>\n<dl>{definitions(shown)}</dl>" if shown else ""


def _variables(palette: Mapping[str, str]) -> str:
    return " ".join(f"--{name}: {value};" for name, value in palette.items())
