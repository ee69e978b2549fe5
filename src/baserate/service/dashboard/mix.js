// The class mix over time: lines with bands, the mix in training, what happened, on a linear or a logarithmic scale.

import { Chart, shade } from "./chart.js";
import { classTable } from "./classes.js";
import { h, mark } from "./dom.js";
import { clock, share, shares } from "./format.js";
import { eventsNear, kindOf, paintEvents } from "./happenings.js";
import { movers, watched } from "./model.js";
import { colour } from "./theme.js";

const LEAST = 1e-4; // the bottom of the logarithmic scale
const DRAWN = 5;
const NARROW = 560;
const FAINT = [0.16, 0.14, 0.11, 0.08, 0.07]; // how dark bands are: the more there are, the fainter

/** The panel. */
export function mixPanel(stream, points) {
  const order = movers(stream, points);
  const binary = stream.classes.length === 2;
  let log = false;
  let shown = [];
  let bright = null; // the class whose row is pointed at
  let chart = null;
  let history = { points: [], events: [], spans: [] };
  let current = stream;

  const tip = h("div", { class: "tip", hidden: true });
  const canvas = h("div", { class: "plot tall", tabindex: "0", role: "img" }, tip);
  const scale = h(
    "fieldset",
    { class: "choice" },
    h("legend", { class: "unseen" }, "Scale"),
    ...["Linear", "Log"].map((word, i) =>
      h("label", {}, h("input", { type: "radio", name: "scale", checked: i === 0, onchange: () => { log = i === 1; rebuild(); } }), word),
    ),
  );
  const table = classTable(stream, order, (columns) => { shown = columns; rebuild(); }, (column) => {
    bright = shown.some((one) => one.column === column) ? column : null;
    chart?.plot?.redraw(false);
  });

  function rebuild() {
    chart?.destroy();
    mark(canvas, "aria-label", describe());
    chart = new Chart(canvas, {
      series: shown.map(({ name, dash }) => ({ name, dash, band: true })),
      log,
      range: () => limits(),
      shading: (i) => (bright === null ? FAINT[Math.min(shown.length, FAINT.length) - 1] : shown[i].column === bright ? 0.24 : 0),
      tick: (value) => (value === 0 ? "0" : share(value).replace(".0", "")),
      height: (width) => (width < NARROW ? 240 : 340),
      right: (width) => (width < NARROW ? 26 : 118),
      top: 22,
      under: (u, ctx) => shade(u, ctx, history.spans, "--alarm"),
      paint: (u, ctx) => {
        if (shown.length <= 3) for (const { column, name } of shown) then(u, ctx, current.source_prior[column], name);
        paintEvents(u, ctx, history.events);
        if (u.width >= NARROW) endLabels(u, ctx);
      },
      moved: (index) => point(index),
    });
    show();
  }

  /** The limits of the y axis: all lines, and most of the bands; those of the first rounds are wide. */
  function limits() {
    if (log) return [low(), 1];
    let most = 0.002;
    for (const { column } of shown) {
      const highs = history.points.map((p) => p.high[column]).sort((a, b) => a - b);
      most = Math.max(most, current.source_prior[column], highs[Math.floor(0.9 * (highs.length - 1))] ?? 0);
      for (const { prior } of history.points) most = Math.max(most, 1.1 * prior[column]);
    }
    return [0, most > 0.8 ? 1 : most * 1.08];
  }

  function low() {
    let least = 0.1;
    for (const { column } of shown) {
      least = Math.min(least, current.source_prior[column]);
      for (const { prior } of history.points) least = Math.min(least, prior[column]);
    }
    return Math.max(LEAST, 10 ** Math.floor(Math.log10(Math.max(least, LEAST))));
  }

  function show() {
    const floor = log ? low() : 0;
    const columns = [history.points.map((p) => p.at)];
    for (const { column } of shown) {
      for (const name of ["prior", "low", "high"]) columns.push(history.points.map((p) => Math.max(floor, p[name][column])));
    }
    chart.show(columns);
  }

  /** The share in training, as a dotted line. */
  function then(u, ctx, value, name) {
    const y = u.valToPos(Math.max(value, log ? LEAST : 0), "y", true);
    if (!(y >= u.bbox.top && y <= u.bbox.top + u.bbox.height)) return;
    ctx.strokeStyle = colour(name, 0.8);
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(u.bbox.left, y);
    ctx.lineTo(u.bbox.left + u.bbox.width, y);
    ctx.stroke();
  }

  /** The name of each line at its end, moved apart where they would overlap. */
  function endLabels(u, ctx) {
    const last = history.points.at(-1);
    if (!last) return;
    const ratio = devicePixelRatio;
    const apart = 15 * ratio;
    const labels = shown
      .map(({ column, name }) => ({ name, text: String(current.classes[column]), y: u.valToPos(Math.max(last.prior[column], log ? LEAST : 0), "y", true) }))
      .sort((a, b) => a.y - b.y);
    const [top, bottom] = [u.bbox.top + 4 * ratio, u.bbox.top + u.bbox.height];
    labels.forEach((label, i) => { label.y = Math.max(label.y, i ? labels[i - 1].y + apart : top); });
    for (let i = labels.length - 1; i >= 0; i -= 1) {
      labels[i].y = Math.min(labels[i].y, i === labels.length - 1 ? bottom : labels[i + 1].y - apart);
    }
    ctx.font = `600 ${12 * ratio}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    for (const { name, text, y } of labels) {
      ctx.fillStyle = colour(name);
      ctx.fillText(text.length > 15 ? `${text.slice(0, 14)}…` : text, u.bbox.left + u.bbox.width + 8 * ratio, y);
    }
    ctx.textBaseline = "alphabetic";
  }

  function point(index) {
    const at = index === null ? undefined : history.points[index];
    tip.hidden = !at;
    if (!at) return;
    const lines = [...shown].sort((a, b) => at.prior[b.column] - at.prior[a.column]);
    const [{ at: first }, { at: last }] = [history.points[0], history.points.at(-1)];
    tip.replaceChildren(
      h("b", {}, clock(at.at)),
      ...lines.map(({ column, name }) =>
        h("span", {}, h("i", { vars: { "--tint": `var(${name})` } }), `${current.classes[column]} `, h("b", {}, share(at.prior[column])), ` (${shares(at.low[column], at.high[column])})`),
      ),
      ...eventsNear(history.events, at.at, Math.max(1, (last - first) / 80)).map((event) => h("span", { class: "event" }, `${kindOf(event).sign} ${kindOf(event).word}: ${event.text}`)),
    );
    const x = chart.plot.valToPos(at.at, "x") + chart.plot.over.offsetLeft;
    const right = x > chart.host.clientWidth / 2;
    mark(tip, "data-side", right ? "left" : "right");
    tip.style.setProperty("--x", `${right ? chart.host.clientWidth - x + 12 : x + 12}px`);
  }

  function describe() {
    const now = shown.map(({ column }) => `${current.classes[column]} ${share(current.prior[column])}`).join(", ");
    return `Chart of the class mix over time. Now: ${now}. The table after it has all classes. Arrow keys move through time.`;
  }

  table.draw(binary ? [watched(stream)] : order.slice(0, Math.min(DRAWN, order.length)));
  return {
    element: h(
      "section",
      { class: "card mix", "aria-labelledby": "mix-title" },
      h("div", { class: "card-head" }, h("h2", { id: "mix-title" }, "Class mix"), h("p", { class: "hint" }, "Shaded: 90\u202f% band. Dotted: in training."), scale),
      h("div", { class: "mix-body" }, canvas, table.element),
    ),
    update(next, data) {
      current = next;
      history = data;
      table.update(next);
      mark(canvas, "aria-label", describe());
      show();
    },
    destroy: () => chart?.destroy(),
  };
}
