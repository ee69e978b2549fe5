"""The built documentation in a real browser: what is wrong with its pages, at a width and in a colour scheme."""

from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from ..project.pages import ROOT

SITE = ROOT / "docs" / "_build" / "html"
WIDTHS = (400, 1280)
SCHEMES = ("light", "dark")
LINKS = "[...document.querySelectorAll('a[href]')].map(a => a.href)"
WIDE = "document.documentElement.scrollWidth"
BROKEN_IMAGES = "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
NAMES = "[...document.querySelectorAll('[id], a[name]')].map(e => e.id || e.name)"
INSIDE = ("file:", "data:", "blob:")


def html_pages():
    """Return all pages of the site."""
    return sorted(path for path in SITE.rglob("*.html") if not {"_static", "_downloads"} & set(path.parts))


class Look:
    """One browser window that opens pages and collects what is wrong with them.

    Parameters
    ----------
    chromium : Browser
    width : int
    scheme : {"light", "dark"}
    axe : Axe, optional
        Checks accessibility if given.
    """

    def __init__(self, chromium, width, scheme, axe=None):
        self.width, self.scheme, self.axe = width, scheme, axe
        self.faults, self.links, self.names, self.page_faults = [], {}, {}, []
        self.context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.page.on("console", lambda said: said.type == "error" and self.page_faults.append(f"console: {said.text}"))
        self.page.on("pageerror", lambda error: self.page_faults.append(f"script: {error}"))
        self.page.on("request", lambda asked: asked.url.startswith(INSIDE) or self.page_faults.append(asked.url))

    def open(self, path, picture=None):
        """Open a page and note its faults; with `picture`, save a screenshot of the whole page there."""
        self.page_faults.clear()
        self.page.goto(path.as_uri(), wait_until="load")
        found = list(self.page_faults)
        wide = self.page.evaluate(WIDE)
        if wide > self.width:
            found.append(f"scrolls sideways: {wide} pixels")
        found += [f"image: {source}" for source in self.page.evaluate(BROKEN_IMAGES)]
        if self.axe is not None:
            for fault in self.axe.run(self.page).response["violations"]:
                if fault["impact"] in ("serious", "critical"):
                    found.append(f"axe: {fault['id']} x {len(fault['nodes'])}: {fault['nodes'][0]['html'][:200]}")
        self.links[path] = set(self.page.evaluate(LINKS))
        self.names[path] = set(self.page.evaluate(NAMES))
        if picture is not None:
            self.page.screenshot(path=picture, full_page=True)
        told = f"{path.relative_to(SITE).as_posix()} at {self.width}, {self.scheme}"
        self.faults += [f"{told}: {fault}" for fault in found]

    def broken_links(self):
        """Return links between the pages that were opened which lead to no file, or to no place on the page."""
        found = {self._broken(page, link) for page, links in self.links.items() for link in links}
        return sorted(found - {None})

    def _broken(self, page, link):
        address, part = urldefrag(link)
        if not address.startswith("file:"):
            return None
        told = f"{page.relative_to(SITE).as_posix()}: {link}"
        target = Path(unquote(urlsplit(address).path))
        if not target.is_file():
            return f"{told}: no such file"
        if part and target in self.names and unquote(part) not in self.names[target]:
            return f"{told}: no such place"
        return None

    def close(self):
        self.context.close()


def sweep(executable, axe, pictures, told):
    """Look at every page, at both widths and in both schemes; return all faults; `told` hears of them as they come."""
    from playwright.sync_api import sync_playwright

    faults = []
    with sync_playwright() as player:
        chromium = player.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for width in WIDTHS:
            for scheme in SCHEMES:
                look = Look(chromium, width, scheme, axe)
                for path in html_pages():
                    name = "-".join(path.relative_to(SITE).with_suffix("").parts)
                    look.open(path, pictures and Path(pictures) / f"{name}-{width}-{scheme}.png")
                found = look.faults + look.broken_links()
                told("\n".join([*found, f"{len(look.links)} pages at {width}, {scheme}: {len(found)} faults"]))
                faults += found
                look.close()
        chromium.close()
    return sorted(set(faults))
