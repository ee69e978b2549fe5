// A small line of the last ten minutes on a card: the class that moved most, with its band.

import { getHistory } from "./api.js";
import { h, svg } from "./dom.js";
import { share } from "./format.js";

const SECONDS = 600;
const KEPT = 200;
const MOST_CLASSES = 100; // beyond, a history is too long to fetch for a card

/** The line of one class of a stream. */
export function spark(stream, column) {
  const line = svg("polyline");
  const area = svg("polygon");
  const then = svg("line", { x1: 0, x2: 100 });
  const picture = svg("svg", { class: "spark", viewBox: "0 0 100 40", preserveAspectRatio: "none", "aria-hidden": "true" }, area, then, line);
  const words = h("p", { class: "hint" });
  const element = h("div", {}, picture, words);
  let points = [];

  if (stream.rows && stream.classes.length <= MOST_CLASSES) load();

  async function load() {
    try {
      const { points: found } = await getHistory(stream.name, SECONDS, 100);
      points = [...found, ...points.filter((point) => point.at > (found.at(-1)?.at ?? 0))];
      draw();
    } catch { /* the card does without; the page says what is wrong with the connection */ }
  }

  function draw() {
    const shown = points.filter((point) => point.prior.length === stream.classes.length);
    element.hidden = shown.length < 2;
    if (element.hidden) return;
    const [first, last] = [shown[0].at, shown.at(-1).at];
    const highs = shown.map((point) => point.high[column]).sort((a, b) => a - b);
    const most = highs[Math.floor(0.9 * (highs.length - 1))]; // bands of the first rounds are wide
    const top = 1.08 * Math.max(stream.source_prior[column], most, ...shown.map((point) => point.prior[column]));
    const x = (point) => (100 * (point.at - first)) / Math.max(1e-9, last - first);
    const y = (value) => 40 - (40 * value) / top;
    const at = (name) => (point) => `${x(point).toFixed(2)},${y(point[name][column]).toFixed(2)}`;
    line.setAttribute("points", shown.map(at("prior")).join(" "));
    area.setAttribute("points", [...shown.map(at("high")), ...shown.map(at("low")).reverse()].join(" "));
    for (const end of ["y1", "y2"]) then.setAttribute(end, y(stream.source_prior[column]).toFixed(2));
    const values = shown.map((point) => point.prior[column]);
    words.textContent = `${stream.classes[column]}, last ${spell(last - first)}: ${share(Math.min(...values))} to ${share(Math.max(...values))}`;
  }

  element.hidden = true;
  return {
    element,
    add(next) {
      if (!next.low || !next.at || next.at === points.at(-1)?.at) return;
      points.push({ at: next.at, prior: next.prior, low: next.low, high: next.high });
      while (points.length > KEPT || points[0].at < next.at - SECONDS) points.shift();
      draw();
    },
  };
}

function spell(seconds) {
  return seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}
