// What happened when: marks on the charts, and a list to read.

import { h } from "./dom.js";
import { ago, clock, count } from "./format.js";
import { colour } from "./theme.js";

const KINDS = {
  alarm: { word: "Alarm", sign: "▲", colour: "--alarm", line: true },
  alarm_over: { word: "Alarm over", sign: "△", colour: "--good", line: true },
  fallback: { word: "Correction reduced", sign: "◐", colour: "--warn", line: true },
  fallback_over: { word: "Correction in full", sign: "●", colour: "--good", line: true },
  refit: { word: "Refit", sign: "◆", colour: "--accent", line: true },
  created: { word: "Created", sign: "+", colour: "--ink-2", line: false },
  shadow: { word: "Shadow mode on", sign: "◌", colour: "--ink-2", line: true },
  shadow_over: { word: "Shadow mode off", sign: "◉", colour: "--ink-2", line: true },
  labels: { word: "Labels", sign: "•", colour: "--ink-2", line: false },
  forgotten: { word: "Samples deleted", sign: "×", colour: "--ink-2", line: false },
};
const LISTED = 12;

export const kindOf = (event) => KINDS[event.kind] ?? { word: event.kind, sign: "•", colour: "--ink-2", line: false };

/** Marks of events: a line and a sign for what changes a stream, a tick at the bottom for labels. */
export function paintEvents(u, ctx, events) {
  const ratio = devicePixelRatio;
  const { left, top, width, height } = u.bbox;
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = "center";
  let free = -Infinity;
  for (const event of events) {
    const x = Math.round(u.valToPos(event.at, "x", true));
    if (x < left || x > left + width) continue;
    const kind = kindOf(event);
    ctx.strokeStyle = ctx.fillStyle = colour(kind.colour);
    ctx.lineWidth = ratio;
    ctx.setLineDash(kind.line ? [2 * ratio, 3 * ratio] : []);
    ctx.beginPath();
    ctx.moveTo(x, kind.line ? top : top + height - 7 * ratio);
    ctx.lineTo(x, top + height);
    ctx.stroke();
    if (kind.line && x - free > 12 * ratio) {
      ctx.fillText(kind.sign, x, top - 5 * ratio);
      free = x;
    }
  }
}

/** Events near a moment, for the words beside the pointer. */
export function eventsNear(events, at, seconds) {
  return events.filter((event) => Math.abs(event.at - at) <= seconds).slice(-4);
}

/** The list of events, newest first; runs of labels are one line. */
export function eventList() {
  const list = h("ol", { class: "events" });
  const more = h("button", { type: "button", class: "quiet", hidden: true, onclick: () => show(latest, !all) });
  let latest = [];
  let all = false;

  function show(events, everything = all) {
    latest = events;
    all = everything;
    const lines = gather(events).reverse();
    const shown = all ? lines : lines.slice(0, LISTED);
    list.replaceChildren(...shown.map(line));
    if (!lines.length) list.append(h("li", { class: "none" }, "Nothing yet. Alarms, refits and labels will be listed here."));
    more.hidden = lines.length <= LISTED;
    more.textContent = all ? "Show fewer" : `Show all ${count(lines.length)}`;
  }

  return { element: h("div", {}, list, more), update: show };
}

function line(event) {
  const kind = kindOf(event);
  return h(
    "li",
    { "data-kind": event.kind },
    h("span", { class: "sign", "aria-hidden": "true" }, kind.sign),
    h("span", { class: "what" }, h("b", {}, kind.word), event.text && event.text !== kind.word.toLowerCase() ? ` ${event.text}` : ""),
    h("time", { datetime: new Date(event.at * 1000).toISOString(), title: `round ${count(event.round)}, ${ago(event.at)}` }, clock(event.at)),
  );
}

/** Labels that follow each other become one line: 240 of 260 labels in 13 deliveries. */
function gather(events) {
  const lines = [];
  for (const event of events) {
    const last = lines.at(-1);
    const found = event.kind === "labels" && /^(\d+) of (\d+) /.exec(event.text);
    if (found && last?.tally && event.at - last.at < 600) {
      last.tally = [last.tally[0] + Number(found[1]), last.tally[1] + Number(found[2]), last.tally[2] + 1];
      const [taken, given, times] = last.tally;
      Object.assign(last, { at: event.at, round: event.round, text: `${count(taken)} of ${count(given)} found their row, in ${times} deliveries` });
    } else if (found) {
      lines.push({ ...event, text: `${count(Number(found[1]))} of ${count(Number(found[2]))} found their row`, tally: [Number(found[1]), Number(found[2]), 1] });
    } else {
      lines.push(event);
    }
  }
  return lines;
}
