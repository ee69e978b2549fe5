"""The dashboard of a real server in a real browser."""

import subprocess
import sys
import time

import httpx
import pytest

pytest.importorskip("starlette")
sync_api = pytest.importorskip("playwright.sync_api")
axe_core = pytest.importorskip("axe_playwright_python.sync_playwright")

from ..proving.process import ServerProcess  # noqa: E402
from ..service.served import HELD, HELD_Y, outputs  # noqa: E402
from .dashboards import MANY, NASTY, WORDS, about, broken, create, mail, send, topics, watching  # noqa: E402

pytestmark = pytest.mark.system
DEMO = "digits-seasonal"
PHONE = {"viewport": {"width": 400, "height": 800}}


@pytest.fixture(scope="module")
def chromium(browser):
    with sync_api.sync_playwright() as playing:
        launched = playing.chromium.launch(executable_path=browser, args=WORDS)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A server with the streams of the demo, and two of ours."""
    with ServerProcess(tmp_path_factory.mktemp("demo"), "--demo") as server:
        mail(server.url, "mail")
        topics(server.url, "topics")
        until = time.monotonic() + 60
        while time.monotonic() < until:
            known = {one["name"]: one["rows"] for one in httpx.get(f"{server.url}/v1/streams").json()["streams"]}
            if known.get(DEMO):
                break
            time.sleep(0.1)
        yield server.url


@pytest.fixture
def watched(chromium, demo):
    with watching(chromium, demo) as page:
        yield page


def serious(page):
    """Return the faults that axe-core finds and that is serious or worse."""
    found = axe_core.Axe().run(page).response["violations"]
    return [
        (rule["id"], [node["html"] for node in rule["nodes"]][:3])
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]


def test_the_demo_moves_within_five_seconds(watched):
    begun = time.monotonic()
    watched.page.goto(watched.url)
    card = watched.page.locator(".stream", has_text=DEMO)
    first = card.locator(".mini").inner_text(timeout=5_000)
    watched.page.wait_for_function(
        "([name, first]) => [...document.querySelectorAll('.stream')].find((one) => one.innerText.includes(name))"
        ".querySelector('.mini').innerText !== first",
        arg=[DEMO, first],
        timeout=5_000,
    )
    assert time.monotonic() - begun < 5.0


def test_one_stream_moves_within_five_seconds(watched):
    """Its numbers and its chart."""
    begun = time.monotonic()
    page = watched.open(DEMO)
    pixels = "document.querySelector('.mix canvas').toDataURL()"
    first, facts = page.evaluate(pixels), page.locator(".facts").inner_text()
    page.wait_for_function(f"(first) => {pixels} !== first", arg=first, timeout=5_000)
    page.wait_for_function("(first) => document.querySelector('.facts').innerText !== first", arg=facts, timeout=5_000)
    assert time.monotonic() - begun < 5.0
    assert page.locator(".measure").count() == 4
    assert page.locator("#connection-text").inner_text() == "Live"
    assert page.title() == f"{DEMO} · baserate" or page.title().startswith("▲")


def test_what_is_shown_is_what_the_server_says(watched):
    said = about(watched.url, "mail")
    page = watched.open("mail")
    shown = {
        row.locator("th").inner_text(): row.locator("td").all_inner_texts()
        for row in page.locator(".classes tbody tr").all()
    }
    assert set(shown) == {"ham", "spam"}
    for name, prior, source in zip(said["classes"], said["prior"], said["source_prior"], strict=True):
        now, _, then, _ = (text.replace("\u202f%", "").strip() for text in shown[name])
        assert float(now) / 100 == pytest.approx(prior, abs=6e-4)
        assert float(then) / 100 == pytest.approx(source, abs=6e-4)
    assert page.locator(".class[aria-pressed=true]").all_inner_texts() == ["spam"]  # one curve for two classes
    assert "6 rounds · 240 rows" in page.locator(".facts").inner_text()


def test_an_alarm_shows(chromium, demo):
    create(demo, "breaks", ["ham", "spam", "news"], HELD, HELD_Y)
    with watching(chromium, demo) as watched:
        page = watched.open()
        card = page.locator(".stream", has=page.get_by_role("link", name="breaks", exact=True))
        send(demo, "breaks", outputs(1_000, 30)[0])
        card.get_by_text("No sign of drift").wait_for(timeout=10_000)
        for i in range(40):
            send(demo, "breaks", broken(outputs(500, 40 + i)[0]))
            if about(demo, "breaks")["evidence"]["alarm"]:
                break
        card.get_by_text("Alarm", exact=True).wait_for(timeout=10_000)
        assert "breaks" in page.locator("#alarms").text_content()  # a screen reader says it
        assert page.get_by_role("alert").count() == 1
        page.wait_for_function("() => document.title.startsWith('▲')")
        page.get_by_role("link", name="breaks", exact=True).click()
        page.get_by_role("heading", name="More than the class mix has changed.").wait_for()
        assert page.locator(".events [data-kind=alarm]").count() == 1
        assert (
            float(page.locator(".measure").nth(1).locator(".value").inner_text().split("\u202f")[0].replace(",", ""))
            > 1.0
        )
        assert serious(page) == []


def test_labels_are_filled_in(watched):
    page, before = watched.open("mail"), about(watched.url, "mail")["labels"]
    rows = page.locator(".request")
    rows.first.wait_for()
    for row, label in zip(rows.all()[:2], ("ham", "spam"), strict=True):
        row.get_by_text(label, exact=True).click()
    page.get_by_role("button", name="Send 2 labels").click()
    page.locator(".result", has_text="2 labels taken in.").wait_for()
    assert about(watched.url, "mail")["labels"] == before + 2
    page.locator(".events [data-kind=labels]").first.wait_for()
    assert page.get_by_role("button", name="Send labels").is_disabled()


def test_shadow_mode_asks_first(watched):
    page = watched.open("mail")
    switch = page.get_by_role("switch", name="Shadow mode")
    switch.click()
    page.get_by_role("button", name="Cancel").click()
    assert about(watched.url, "mail")["shadow"] is False
    switch.click()
    page.get_by_role("button", name="Turn on").click()
    page.locator(".badge", has_text="Shadow mode").wait_for()
    assert about(watched.url, "mail")["shadow"] is True
    assert switch.get_attribute("aria-checked") == "true"
    switch.click()
    page.get_by_role("button", name="Turn off").click()
    page.wait_for_function("() => document.querySelector('.switch').ariaChecked === 'false'")
    assert about(watched.url, "mail")["shadow"] is False


def brightness(page):
    red, green, blue = map(
        float, page.evaluate("getComputedStyle(document.body).backgroundColor").strip("rgb()").split(",")
    )
    return (red + green + blue) / 3


def test_dark_mode_follows_the_system_and_the_button(chromium, demo):
    with watching(chromium, demo, color_scheme="dark") as watched:
        page = watched.open()
        assert brightness(page) < 60
        page.get_by_role("button", name="Light").click()
        assert brightness(page) > 200
        page.reload()
        page.wait_for_selector(".overview")
        assert brightness(page) > 200  # remembered
        page.get_by_role("button", name="Dark").click()
        assert brightness(page) < 60
        page = watched.open(DEMO)
        assert serious(page) == []


@pytest.mark.parametrize("name", [None, DEMO, "mail", "topics"])
def test_a_phone_needs_no_scrolling_to_the_side(chromium, demo, name):
    with watching(chromium, demo, **PHONE) as watched:
        page = watched.open(name)
        page.wait_for_timeout(300)
        assert watched.overhang() <= 0
        if name == "topics":
            page.get_by_role("button", name="more classes").click()
            assert watched.overhang() <= 0


def test_many_classes_are_folded_and_names_stay_text(watched):
    page = watched.open("topics")
    rows = page.locator(".classes tbody tr")
    assert rows.count() == 6
    assert rows.first.locator("th").inner_text() == NASTY[0]  # it grew most, so it comes first; its markup is text
    page.get_by_role("button", name=f"Show {MANY - 6} more classes").click()
    assert rows.count() == MANY
    page.get_by_text("Log", exact=True).click()
    last = rows.last.locator("button")
    assert last.get_attribute("aria-pressed") == "false"
    last.click()
    assert last.get_attribute("aria-pressed") == "true"
    assert page.locator("main img").count() == 0


def test_the_keyboard_is_enough(watched):
    page = watched.open()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "A"
    outline = "getComputedStyle(document.activeElement, '::after').outlineStyle"
    assert page.evaluate(outline) == "solid"  # the focus can be seen
    page.keyboard.press("Enter")
    page.wait_for_selector(".mix canvas")
    page.locator(".plot.tall").focus()
    for key in ("ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    page.locator(".tip").wait_for(state="visible")
    page.keyboard.press("Escape")
    page.locator(".tip").wait_for(state="hidden")


def test_a_server_that_compiles_says_so(watched):
    """The real answer, with one word changed, as it is for the first minute of a fresh installation."""
    said = httpx.get(f"{watched.url}/v1/session").json()
    assert said["ready"] is True
    watched.page.route("**/v1/session", lambda route: route.fulfill(json={**said, "ready": False}))
    watched.page.goto(watched.url)
    watched.page.get_by_role("heading", name="Starting").wait_for()
    assert serious(watched.page) == []
    watched.page.unroute("**/v1/session")
    watched.page.locator(".stream", has_text=DEMO).wait_for(timeout=5_000)  # by itself


@pytest.mark.parametrize("name", [None, DEMO, "mail"])
def test_axe_finds_nothing_serious(watched, name):
    page = watched.open(name)
    if name:
        page.locator(".request").first.wait_for()
    assert serious(page) == []


def test_a_new_server_says_what_to_do_asks_for_a_key_and_may_go_away(chromium, tmp_path):
    expected = [
        "401",
        "ERR_CONNECTION_RESET",
        "ERR_CONNECTION_REFUSED",
        "ERR_INCOMPLETE_CHUNKED_ENCODING",
        "ERR_EMPTY_RESPONSE",
    ]
    with ServerProcess(tmp_path) as server, watching(chromium, server.url, expected=expected, **PHONE) as watched:
        page = watched.open()
        page.get_by_role("heading", name="No streams yet").wait_for()
        assert page.get_by_text("baserate serve --demo").is_visible()
        assert watched.overhang() <= 0
        assert serious(page) == []
        subprocess.run(page.locator("pre").first.inner_text(), shell=True, check=True, capture_output=True)
        page.get_by_role("link", name="mail").wait_for(timeout=10_000)  # the line works, and the page needs no reload

        server.kill()
        page.get_by_text("The server does not answer.").first.wait_for(timeout=10_000)
        assert page.get_by_role("link", name="mail").is_visible()  # what was known stays
        page.get_by_role("button", name="Try now").click()
        page.get_by_text("Next try in").wait_for(timeout=10_000)
        server.start()
        page.locator("#connection-text", has_text="Live").wait_for(timeout=20_000)  # by itself
        assert page.locator("#gone").is_hidden()

        words = [
            sys.executable,
            "-m",
            "baserate",
            "serve",
            "keys",
            "create",
            "--scope",
            "read",
            "--data",
            str(tmp_path),
        ]
        key = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
        time.sleep(1.2)  # keys are read again each second
        page.reload()
        page.get_by_label("API key").fill("br_wrong")
        assert watched.overhang() <= 0
        assert serious(page) == []
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("not an API key of this server").wait_for()
        page.get_by_label("API key").fill(key)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("link", name="mail").click()
        page.wait_for_selector(".mix canvas")
        assert page.get_by_role("switch").count() == 0  # this key may only read
        assert page.get_by_role("button", name="Send").count() == 0
        page.locator("#connection-text", has_text="Live").wait_for()
        page.get_by_role("button", name="Sign out").click()
        page.get_by_label("API key").wait_for()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("share(0.0984)", "9.8\u202f%"),
        ("share(0.00084)", "0.084\u202f%"),
        ("share(1)", "100\u202f%"),
        ("share(1e-7)", "<\u202f0.001\u202f%"),
        ("share(NaN)", "\u2013"),
        ("shares(0.00076, 0.0357)", "0.1\u20133.6\u202f%"),
        ("shares(0.98, 1)", "98.0\u2013100.0\u202f%"),
        ("count(1234567)", "1.23 million"),
        ("many(1, 'row')", "1 row"),
        ("evidence(3e120)", ">\u202f10⁹⁹"),
        ("evidence(2.5e7)", "2.5\u202f\xd7\u202f10⁷"),
        ("evidence(20)", "20"),
        ("change(0.1, 0.02)", "\xd7\u202f5.0"),
        ("rate(0.04)", "<\u202f0.1"),
        ("ago(100, 220)", "2 min ago"),
        ("ago(null, 220)", "never"),
        ("sentence('the holdout is small +- 2')", "The holdout is small ± 2."),
    ],
)
def test_numbers_are_for_people(numbers, call, text):
    assert numbers.evaluate(f"import('/format.js').then((to) => to.{call})") == text


@pytest.fixture(scope="module")
def numbers(chromium, demo):
    with watching(chromium, demo) as watched:
        yield watched.open()
