// One stream: its state in a sentence, the charts, what happened, rows to label.

import { getHistory, getStream } from "./api.js";
import { announce, h, mark, say } from "./dom.js";
import { ago, count, many, sentence } from "./format.js";
import { eventList } from "./happenings.js";
import { measurePanels } from "./measures.js";
import { mixPanel } from "./mix.js";
import { fromDetail, withPoint } from "./model.js";
import { requestPanel } from "./requests.js";
import { shadowSwitch } from "./shadow.js";
import { badge, stateOf } from "./status.js";

const SPANS = [["10 min", 600], ["1 hour", 3600], ["1 day", 86400], ["All", 0]];
const KEPT = 1500; // points in memory; beyond, every other one of the older half goes

/** The page of a stream, once it is loaded. */
export async function streamPage(name, { summary, changed, scope }) {
  let seconds = 3600;
  let stream = fromDetail(await getStream(name), summary);
  let { points, events } = await getHistory(name, seconds);
  if (points.length) stream = withPoint(stream, points.at(-1)) ?? stream;

  const state = badge();
  const facts = h("p", { class: "facts" });
  const notice = h("div", { class: "notice", hidden: true });
  const shadow = shadowSwitch(name, (said) => {
    stream = fromDetail(said, stream);
    changed(stream);
    update();
  });
  const spans = h(
    "fieldset",
    { class: "choice" },
    h("legend", { class: "unseen" }, "Time shown"),
    SPANS.map(([word, value]) => h("label", {}, h("input", { type: "radio", name: "span", checked: value === seconds, onchange: () => { seconds = value; load(); } }), word)),
  );
  const mix = mixPanel(stream, points);
  const measures = measurePanels(stream);
  const happened = eventList();
  const health = h("details", { class: "card health" }, h("summary", {}), h("ul"));
  const element = h(
    "div",
    { class: "page" },
    h("p", { class: "back" }, h("a", { href: "#/" }, "← All streams")),
    h("div", { class: "head" }, h("h1", {}, name), state.element, facts, h("div", { class: "controls" }, scope === "admin" ? shadow.element : null, spans)),
    notice,
    mix.element,
    measures.element,
    h(
      "div",
      { class: "columns" },
      requestPanel(name, stream.classes, scope),
      h("section", { class: "card", "aria-labelledby": "events-title" }, h("div", { class: "card-head" }, h("h2", { id: "events-title" }, "What happened")), happened.element),
    ),
    health,
  );

  function update() {
    state.update(stream);
    shadow.update(stream);
    const parts = [`${count(stream.classes.length)} classes`, many(stream.round, "round"), many(stream.rows, "row"), many(stream.labels, "label"), stream.rows ? `last row ${ago(stream.at)}` : "no rows yet"];
    say(facts, parts.join(" · "));
    explain();
    const data = { points, events, spans: alarmSpans(points) };
    mix.update(stream, data);
    measures.update(stream, data);
    health.hidden = !stream.health.length;
    say(health.firstChild, `${many(stream.health.length, "note")} about the holdout`);
    if (health.lastChild.childElementCount !== stream.health.length) health.lastChild.replaceChildren(...stream.health.map((text) => h("li", {}, text)));
  }

  /** The state in words: what is wrong, what it means, what to do. */
  function explain() {
    const kind = stateOf(stream);
    const text = {
      alarm: ["More than the class mix has changed.", stream.findings?.[0] ? sentence(stream.findings[0]) : "", "The correction is reduced, and the estimated accuracy is in doubt. Look at the model's input; label some rows; retrain if the change stays."],
      shadow: ["Shadow mode: the class mix is tracked, answers are the model's own."],
      waiting: ["No rows yet.", "Send batches of the model's probabilities:", `POST /v1/streams/${name}/adapt`],
    }[kind];
    notice.hidden = !text;
    mark(notice, "data-state", kind);
    const wanted = (text ?? []).filter(Boolean);
    if (notice.textContent !== wanted.join("")) notice.replaceChildren(...wanted.map((line, i) => h(i ? "p" : "h2", {}, line)));
  }

  async function load() {
    const [said, history] = await Promise.all([getStream(name), getHistory(name, seconds)]);
    ({ points, events } = history);
    stream = fromDetail(said, stream);
    if (points.length) stream = withPoint(stream, points.at(-1)) ?? stream;
    happened.update(events);
    update();
  }

  let due = false;
  function soon() {
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      update();
    });
  }

  happened.update(events);
  update();
  return {
    element,
    title: name,
    load,
    news(kind, said) {
      if (said.stream !== name) return;
      if (kind === "point") {
        const next = withPoint(stream, said);
        if (!next) return;
        stream = next;
        if (!points.length || said.at > points.at(-1).at) points.push(said);
        if (points.length > KEPT) points = points.filter((_, i) => i > KEPT / 2 || i % 2 === 0);
        if (seconds) while (points.length && points[0].at < said.at - seconds) points.shift();
        soon();
      } else if (kind === "event") {
        events = [...events, said].slice(-500);
        happened.update(events);
        if (said.kind === "fallback") stream = { ...stream, reason: said.text };
        if (said.kind === "alarm") load(); // for what was found
        else soon();
      } else {
        announce(`The stream ${name} was ${said.change}.`);
      }
    },
    tick: update,
    destroy() {
      mix.destroy();
      measures.destroy();
    },
  };
}

/** The times in which there was an alarm. */
function alarmSpans(points) {
  const found = [];
  for (const [i, point] of points.entries()) {
    if (!point.alarm) continue;
    if (i && points[i - 1].alarm) found.at(-1)[1] = point.at;
    else found.push([point.at, point.at]);
  }
  return found;
}
