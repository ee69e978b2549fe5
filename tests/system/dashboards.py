"""The dashboard in a real browser: pages that note what the browser complains about, and streams to look at."""

import contextlib

import httpx
import numpy as np

from ..service.served import outputs

WORDS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
MANY = 50
NASTY = ['<img src=x onerror="document.title=1">', "a class with a name that is longer than any phone is wide " * 2]


class Watched:
    """A page, and the browser's complaints about it.

    Parameters
    ----------
    page : Page
    url : str
        The address of the server.
    """

    def __init__(self, page, url):
        self.page, self.url, self.complaints = page, url, []
        page.on("console", lambda said: said.type in ("error", "warning") and self.complaints.append(said.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self, name=None):
        """Open all streams, or one, and return when it is there."""
        self.page.goto(f"{self.url}/" + (f"#/streams/{name}" if name else "#/"))
        self.page.wait_for_selector(".mix canvas" if name else ".overview")
        return self.page

    def overhang(self):
        """Return how many pixels the page is wider than the window."""
        return self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


@contextlib.contextmanager
def watching(chromium, url, *, expected=(), **context):
    """A page of its own. The browser must complain of nothing but what is expected."""
    with contextlib.closing(chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **context})) as opened:
        watched = Watched(opened.new_page(), url)
        yield watched
        unexpected = [said for said in watched.complaints if not any(words in said for words in expected)]
        assert not unexpected, unexpected


def create(url, name, classes, held, y):
    """Make a stream."""
    labels = [classes[c] for c in y]
    body = {"classes": classes, "holdout": {"proba": held.tolist(), "labels": labels}}
    assert httpx.put(f"{url}/v1/streams/{name}", json=body, timeout=60).status_code == 201


def send(url, name, proba, **more):
    """Send a batch."""
    answer = httpx.post(f"{url}/v1/streams/{name}/adapt", json={"proba": proba.tolist(), **more}, timeout=60)
    assert answer.status_code == 200, answer.text


def about(url, name):
    """Return the readings of a stream."""
    return httpx.get(f"{url}/v1/streams/{name}", timeout=30).json()


def mail(url, name):
    """A binary stream with rows that wait for labels, of which a few are spam by now."""
    create(url, name, ["ham", "spam"], *outputs(400, 0, [0.9, 0.1], k=2))
    for i in range(6):
        send(url, name, outputs(40, 10 + i, [0.6, 0.4], k=2)[0], ids=[f"{name}-{i}-{j}" for j in range(40)])


def topics(url, name):
    """A stream of many classes; the names of two of them are meant to do harm."""
    classes = [*NASTY, *(f"topic {i:02}" for i in range(MANY - len(NASTY)))]
    create(url, name, classes, *outputs(2_000, 1, k=MANY))
    after = np.full(MANY, 0.5 / (MANY - 1))
    after[0] = 0.5
    for i in range(6):
        send(url, name, outputs(100, 20 + i, after, k=MANY)[0])


def broken(proba):
    """The same rows as a model gives them that has lost most of what it knew."""
    logits = 0.3 * np.log(proba) + np.array([0.0, 1.5, 0.0])
    odds = np.exp(logits)
    return odds / odds.sum(axis=1, keepdims=True)
