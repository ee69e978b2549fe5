// The dashboard: which page is shown, what is known of the streams, and the connection to the server.

import { getSession, listStreams, logout } from "./api.js";
import { announce, h, mark, say } from "./dom.js";
import { clock } from "./format.js";
import { Live } from "./live.js";
import { fromSummary, withPoint } from "./model.js";
import { overview } from "./overview.js";
import { signInPage } from "./signing_in.js";
import { streamPage } from "./stream.js";
import { bindTheme } from "./theme.js";

const main = document.getElementById("main");
const byId = (id) => document.getElementById(id);
let streams = new Map();
let session = { scope: "read", open: true };
let page = null;
let shownAt = null; // the address of the page that is shown
let due = false;
let heard = 0;
let waiting = 0;

const live = new Live({ news, opened: refresh, state });

/** Fetch everything: at the start, and after the server was away. */
async function refresh() {
  try {
    session = await getSession();
    if (!session.ready) return starting();
    streams = new Map((await listStreams()).map((said) => [said.name, fromSummary(said)]));
  } catch (error) {
    if (error.status === 401) signIn();
    throw error;
  }
  byId("sign-out").hidden = session.open;
  heard = Date.now() / 1000;
  if (shownAt !== location.hash || page?.title === "Sign in") await route();
  else await page?.load?.();
  redraw();
}

function news(kind, said) {
  heard = Date.now() / 1000;
  if (kind === "point") {
    const known = streams.get(said.stream);
    const next = known && withPoint(known, said);
    if (next) streams.set(said.stream, next);
  } else if (kind === "event") {
    const known = streams.get(said.stream);
    if (known && said.kind === "fallback") streams.set(said.stream, { ...known, reason: said.text });
    if (said.kind === "alarm") announce(`Alarm: ${said.stream}, ${said.text}`, { urgent: true });
  } else if (kind === "stream") {
    changedStream(said);
  }
  page?.news?.(kind, said);
  redraw();
}

async function changedStream({ stream, change }) {
  if (change === "deleted") streams.delete(stream);
  else for (const said of await listStreams()) streams.set(said.name, fromSummary(said));
  if (page?.title === stream) await route();
  redraw();
}

/** Draw once before the next frame, however many messages came. */
function redraw() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    page?.update?.(streams);
    const alarms = [...streams.values()].filter((one) => one.alarm).length;
    document.title = `${alarms ? `▲ ${alarms} · ` : ""}${page?.title ?? "baserate"} · baserate`;
  });
}

function state(name, seconds) {
  mark(byId("connection"), "data-state", name);
  const away = name === "gone";
  if (byId("gone").hidden === away) {
    byId("gone").hidden = !away;
    announce(away ? "The server does not answer." : "Connected again.");
  }
  mark(main, "data-stale", away);
  say(byId("connection-text"), away ? "Not connected" : "Live");
  if (away) {
    const since = heard ? ` What is shown is of ${clock(heard)}.` : "";
    say(byId("gone-text"), `The server does not answer.${since} Next try in ${seconds}\u202fs.`);
  }
}

async function route() {
  const address = location.hash;
  const name = /^#\/streams\/([^/]+)$/.exec(address)?.[1];
  let next;
  if (!name) {
    next = overview();
  } else {
    const wanted = decodeURIComponent(name);
    try {
      next = await streamPage(wanted, { summary: streams.get(wanted), scope: session.scope, changed: (stream) => streams.set(wanted, stream) });
    } catch (error) {
      if (error.status === 401) return signIn();
      if (error.status !== 404) throw error;
      next = { title: wanted, element: missing(wanted) };
    }
  }
  if (address === location.hash) put(next, address);
  return undefined;
}

function put(next, address) {
  const moved = shownAt !== null && shownAt !== address;
  page?.destroy?.();
  page = next;
  shownAt = address;
  main.replaceChildren(page.element);
  page.update?.(streams);
  if (page.focus) page.focus.focus();
  else if (moved) {
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  redraw();
}

function missing(name) {
  return h("section", { class: "card empty-page" }, h("h1", {}, "No such stream"), h("p", {}, `There is no stream ${name}. It may have been deleted.`), h("p", {}, h("a", { href: "#/" }, "← All streams")));
}

/** The server compiles its code when it starts for the first time, which takes a while. */
function starting() {
  if (page?.title !== "Starting") {
    const text = "The server is starting. It compiles its code when it starts for the first time, which can take a minute.";
    put({ title: "Starting", element: h("section", { class: "card empty-page", role: "status" }, h("h1", {}, "Starting"), h("p", {}, text), h("div", { class: "progress" })) }, null);
  }
  clearTimeout(waiting);
  waiting = setTimeout(() => refresh().catch((error) => live.failed(error)), 1000);
}

function signIn() {
  live.stop();
  byId("gone").hidden = true;
  byId("sign-out").hidden = true;
  mark(byId("connection"), "data-state", "out");
  say(byId("connection-text"), "Signed out");
  put(signInPage(() => live.start()), location.hash);
}

addEventListener("hashchange", () => {
  if (location.hash === "#main" || page?.title === "Sign in") return;
  route().catch((error) => live.failed(error));
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
byId("retry").addEventListener("click", () => live.start());
byId("sign-out").addEventListener("click", async () => {
  await logout();
  signIn();
});
bindTheme(byId("theme"));
setInterval(() => { // "12 s ago" grows even while nothing comes
  page?.tick?.();
  redraw();
}, 5000);
live.start();
