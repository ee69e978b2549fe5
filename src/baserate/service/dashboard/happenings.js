// What happened when: marks on the charts, and a list to read.

import { h } from "./dom.js";
import { ago, clock, count, many } from "./format.js";
import { colour } from "./theme.js";

const KINDS = {
  alarm: { word: "Alarm", sign: "▲", colour: "--alarm", line: true },
  alarm_over: { word: "Alarm over", sign: "△", colour: "--good", line: true },
  fallback: { word: "Correction reduced", sign: "◐", colour: "--warn", hidden: true },
  fallback_over: { word: "Correction in full", sign: "●", colour: "--good", hidden: true },
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
    if (kind.hidden) continue; // the chart of the correction weight shows it
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

/** The list of events, newest first. */
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
    h("span", { class: "what" }, h("b", {}, kind.word), event.text && event.text !== kind.word.toLowerCase() ? ` ${event.text.replaceAll("+-", "±")}` : ""),
    h("time", { datetime: new Date(event.at * 1000).toISOString(), title: `round ${count(event.round)}, ${ago(event.at)}` }, clock(event.at)),
  );
}

/** Labels, and a correction that comes and goes, are one line each in ten minutes, or until something else happens. */
function gather(events) {
  const lines = [];
  let open = {};
  for (const event of events) {
    const group = { labels: "labels", fallback: "correction", fallback_over: "correction" }[event.kind];
    if (!group) open = {};
    if (!group || !open[group] || event.at - open[group].from > 600) {
      lines.push({ ...event, from: event.at, of: [] });
      if (group) open[group] = lines.at(-1);
    }
    if (group) {
      const line = Object.assign(open[group], { at: event.at, round: event.round });
      line.of.push(event);
      Object.assign(line, group === "labels" ? tellLabels(line.of) : tellCorrection(line.of));
    }
  }
  return lines.sort((a, b) => a.at - b.at);
}

function tellLabels(events) {
  const found = events.map((event) => /^(\d+) of (\d+) /.exec(event.text)).filter(Boolean);
  const sum = (place) => count(found.reduce((total, match) => total + Number(match[place]), 0));
  const times = events.length > 1 ? `, in ${count(events.length)} deliveries` : "";
  return { text: `${sum(1)} of ${sum(2)} found their row${times}` };
}

function tellCorrection(events) {
  const reduced = events.filter((event) => event.kind === "fallback");
  const last = events.at(-1);
  if (events.length === 1) return last.kind === "fallback" ? {} : { text: "" };
  const times = many(reduced.length, "time");
  const why = reduced.length ? `: ${reduced.at(-1).text}` : "";
  return { kind: last.kind, text: last.kind === "fallback" ? `${times}${why}` : `again; it was reduced ${times}${why}` };
}
