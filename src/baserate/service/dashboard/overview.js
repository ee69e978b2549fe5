// All streams at a glance; those that need somebody come first.

import { arrange, h, mark, say } from "./dom.js";
import { ago, change, count, many, rate, sentence, share, shares } from "./format.js";
import { movers, watched } from "./model.js";
import { spark } from "./spark.js";
import { badge, part, stateOf } from "./status.js";

const BARS = 4;
const PAGE = 60;
const SEARCH = 8; // from so many streams on there is a box to search

/** The page. */
export function overview() {
  const cards = new Map();
  let shown = PAGE;
  let streams = new Map();
  const counts = h("p", { class: "counts" });
  const search = h("input", { type: "search", placeholder: "Name or class", autocomplete: "off", oninput: () => { shown = PAGE; update(streams); } });
  const finder = h("label", { class: "finder", hidden: true }, "Find ", search);
  const grid = h("ul", { class: "grid" });
  const more = h("button", { type: "button", class: "quiet wide", hidden: true, onclick: () => { shown += PAGE; update(streams); } }, "Show more");
  const nothing = emptyState();
  const element = h("div", { class: "overview" }, h("div", { class: "head" }, h("h1", {}, "Streams"), counts, finder), nothing, grid, more);

  function update(next) {
    streams = next;
    nothing.hidden = streams.size > 0;
    finder.hidden = streams.size < SEARCH;
    const wanted = search.value.trim().toLowerCase();
    const found = [...streams.values()].filter((one) => !wanted || [one.name, ...one.classes].some((word) => String(word).toLowerCase().includes(wanted)));
    found.sort((a, b) => b.alarm - a.alarm || a.name.localeCompare(b.name));
    const visible = found.slice(0, shown);
    for (const name of cards.keys()) if (!streams.has(name)) cards.delete(name);
    for (const stream of visible) {
      if (cards.get(stream.name)?.classes !== stream.classes.join("\n")) cards.set(stream.name, card(stream));
      cards.get(stream.name).update(stream);
    }
    arrange(grid, visible.map((stream) => cards.get(stream.name).element));
    more.hidden = found.length <= shown;
    say(counts, summary(found, streams.size));
  }

  return { element, title: "Streams", update };
}

function summary(found, all) {
  if (!all) return "";
  const alarms = found.filter((one) => one.alarm).length;
  const rows = found.reduce((sum, one) => sum + (one.rate || 0), 0);
  const some = found.length < all ? `${count(found.length)} of ${many(all, "stream")}` : many(all, "stream");
  return `${some} · ${alarms ? many(alarms, "alarm") : "no alarms"} · ${rate(rows)} rows/s`;
}

function card(stream) {
  const state = badge();
  const facts = h("p", { class: "hint" });
  const mix = h("ul", { class: "mini" });
  const rest = h("p", { class: "hint rest" });
  const reason = h("p", { class: "reason" });
  const [accuracy, weight, speed] = ["Estimated accuracy", "Correction", "Rows/s"].map((word) => {
    const [value, beside] = [h("b"), h("small")];
    return { element: h("div", {}, h("dt", {}, word), h("dd", {}, value, " ", beside)), value, beside };
  });
  const order = stream.classes.length === 2 ? [watched(stream)] : movers(stream).slice(0, stream.classes.length <= BARS + 1 ? BARS + 1 : BARS);
  const bars = order.map((column) => {
    const [value, moved] = [h("b", { class: "number" }), h("span", { class: "number hint", title: "against training" })];
    const bar = h("span", { class: "bar", "aria-hidden": "true" }, h("i"), h("u"));
    mix.append(h("li", {}, h("span", { class: "name" }, String(stream.classes[column])), bar, value, moved));
    return { column, value, moved, bar };
  });
  const trend = spark(stream, order[0]);
  const link = h("a", { href: `#/streams/${encodeURIComponent(stream.name)}` }, stream.name);
  const element = h("li", { class: "card stream" }, h("div", { class: "stream-head" }, h("h2", {}, link), state.element), facts, reason, mix, rest, trend.element, h("dl", {}, accuracy.element, weight.element, speed.element));
  return {
    element,
    classes: stream.classes.join("\n"),
    update(next) {
      state.update(next);
      mark(element, "data-state", stateOf(next));
      say(facts, `${count(next.classes.length)} classes · ${many(next.round, "round")} · ${next.rows ? ago(next.at) : "no rows yet"}`);
      say(reason, inWords(next));
      reason.title = reason.textContent;
      // A scale of its own for each card, so that a rare class can be seen to move; the tick is the share in training.
      const full = Math.max(...bars.map(({ column }) => Math.max(1.1 * next.prior[column], 2 * next.source_prior[column])));
      for (const { column, value, moved, bar } of bars) {
        say(value, share(next.prior[column]));
        say(moved, change(next.prior[column], next.source_prior[column]));
        bar.style.setProperty("--now", `${(100 * next.prior[column]) / Math.min(1, full)}%`);
        bar.style.setProperty("--then", `${(100 * next.source_prior[column]) / Math.min(1, full)}%`);
      }
      const hidden = next.classes.length === 2 ? 0 : next.classes.length - bars.length;
      say(rest, hidden > 0 ? `and ${hidden === 1 ? "1 other class" : `${count(hidden)} other classes`} that moved less` : "");
      say(accuracy.value, next.accuracy.value === null ? "–" : share(next.accuracy.value));
      say(accuracy.beside, next.accuracy.value === null ? "" : shares(next.accuracy.low, next.accuracy.high));
      say(weight.value, next.shadow ? "off" : part(next.weight));
      say(weight.beside, next.shadow ? "shadow" : "");
      say(speed.value, rate(next.rate));
      trend.add(next);
    },
  };
}

/** The state of a stream in a sentence. */
function inWords(stream) {
  return {
    alarm: "More than the class mix has changed.",
    fallback: sentence(stream.reason) || "The correction is reduced.",
    shadow: "Answers are the model's own.",
    fine: "No sign of drift beyond the class mix.",
    waiting: "Waiting for the first batch.",
  }[stateOf(stream)];
}

function emptyState() {
  const origin = new URL(".", location.href).href;
  const lines = `curl -X PUT ${origin}v1/streams/mail \\
  -H 'content-type: application/json' \\
  -d '{"classes": ["ham", "spam"],
       "holdout": {"proba": [[0.9, 0.1], [0.2, 0.8]],
                   "labels": ["ham", "spam"]}}'`;
  return h(
    "section",
    { class: "card empty-page", hidden: true },
    h("h2", {}, "No streams yet"),
    h("p", {}, "A stream is one model whose class mix is tracked. Create one from labelled rows that the model was not trained on, a few hundred or more:"),
    command(lines),
    h("p", {}, "Or look at streams that drift by themselves:"),
    command("baserate serve --demo"),
  );
}

function command(text) {
  const copy = h("button", { type: "button", class: "quiet copy", onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      say(copy, "Copied");
    } catch {
      say(copy, "Select and copy");
    }
    setTimeout(() => say(copy, "Copy"), 2000);
  } }, "Copy");
  return h("div", { class: "command" }, h("pre", { tabindex: "0" }, h("code", {}, text)), copy);
}
