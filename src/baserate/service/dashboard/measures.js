// Four small charts under the class mix: correction weight, evidence, estimated accuracy, throughput.

import { Chart, across, shade } from "./chart.js";
import { h, mark, say } from "./dom.js";
import { clock, evidence, power, rate, sentence, share, shares } from "./format.js";
import { part } from "./status.js";

const MOST = 1e6; // evidence beyond this is drawn here

const MEASURES = [
  {
    title: "Estimated accuracy",
    hint: "Without labels, for the last 5,000 rows; limits at 90\u202f%",
    series: { name: "--line-2", band: true },
    columns: (points) => [points.map((p) => p.accuracy.value), points.map((p) => (p.accuracy.value === null ? null : p.accuracy.low)), points.map((p) => (p.accuracy.value === null ? null : p.accuracy.high))],
    range: (low, high) => {
      if (low === null) return [0, 1];
      const pad = Math.max(0.02, 0.15 * (high - low));
      return [Math.max(0, low - pad), Math.min(1, high + pad)];
    },
    tick: (value) => `${+(100 * value).toFixed(1)}\u202f%`,
    now: ({ accuracy }) => (accuracy.value === null ? "–" : `${share(accuracy.value)}`),
    beside: ({ accuracy }) => (accuracy.value === null ? "no rows yet" : shares(accuracy.low, accuracy.high)),
  },
  {
    title: "Evidence against label shift",
    hint: "1 is none; above the line, more than the class mix has changed",
    series: { name: "--line-1" },
    log: true,
    columns: (points) => [points.map((p) => Math.min(MOST, Math.max(1, p.evidence)))],
    range: (low, high) => [1, Math.min(MOST, Math.max(100, 10 ** Math.ceil(Math.log10((high ?? 1) * 1.05))))],
    tick: (value) => (value >= MOST ? `≥\u202f${power(value)}` : power(value)),
    now: (point) => evidence(point.evidence),
    beside: (point, stream) => (stream.untested ? "not tested" : stream.alarmAt ? `alarm at ${evidence(stream.alarmAt)}` : "no alarm set"),
    line: (stream) => stream.alarmAt,
  },
  {
    title: "Correction weight",
    hint: "The part of the correction that answers use",
    why: (stream) => (stream.fallback ? sentence(stream.reason) : ""),
    series: { name: "--line-0", fill: true },
    columns: (points) => [points.map((p) => (p.shadow ? 0 : p.weight))],
    range: () => [0, 1.05],
    tick: (value) => (value > 1 ? "" : `${Math.round(100 * value)}\u202f%`),
    now: (point) => (point.shadow ? "off" : part(point.weight)),
    beside: (point, stream) => (point.shadow ? "shadow mode" : point.weight < 1 ? "reduced" : "in full"),
  },
  {
    title: "Throughput",
    hint: "Rows a second",
    series: { name: "--line-4", fill: true },
    columns: (points) => [points.map((p) => p.rate)],
    range: (low, high) => [0, Math.max(1, (high ?? 0) * 1.15)],
    tick: (value) => rate(value),
    now: (point) => rate(point.rate),
    beside: () => "rows/s",
  },
];

/** The four panels. */
export function measurePanels(stream) {
  let history = { points: [], spans: [] };
  let current = stream;
  const panels = MEASURES.map((measure, i) => {
    const value = h("strong", { class: "value" });
    const beside = h("span", { class: "beside" });
    const plot = h("div", { class: "plot", tabindex: "0", role: "img" });
    const chart = new Chart(plot, {
      ...measure,
      series: [measure.series],
      height: 140,
      under: (u, ctx) => shade(u, ctx, history.spans, "--alarm"),
      paint: (u, ctx) => measure.line?.(current) && across(u, ctx, measure.line(current), "--alarm", "alarm"),
      moved: (index) => read(index),
    });
    const hint = h("p", { class: "hint" });
    const title = h("h2", { id: `measure-${i}` }, measure.title);
    function read(index) {
      const point = index === null ? history.points.at(-1) ?? current : history.points[index];
      if (!point) return;
      say(value, measure.now(point));
      say(beside, index === null ? measure.beside(point, current) : clock(point.at));
    }
    return {
      element: h("section", { class: "card measure", "aria-labelledby": `measure-${i}` }, title, h("p", { class: "figure" }, value, " ", beside), plot, hint),
      update() {
        chart.show([history.points.map((p) => p.at), ...measure.columns(history.points)]);
        if (!(chart.plot?.cursor.left >= 0)) read(null);
        say(hint, measure.why?.(current) || measure.hint);
        hint.title = hint.textContent;
        const last = history.points.at(-1) ?? current;
        mark(plot, "aria-label", `Chart: ${measure.title} over time. Now ${measure.now(last)}, ${measure.beside(last, current)}. Arrow keys move through time.`);
      },
      destroy: () => chart.destroy(),
    };
  });
  return {
    element: h("div", { class: "measures" }, ...panels.map((panel) => panel.element)),
    update(next, data) {
      current = next;
      history = data;
      for (const panel of panels) panel.update();
    },
    destroy: () => panels.forEach((panel) => panel.destroy()),
  };
}
