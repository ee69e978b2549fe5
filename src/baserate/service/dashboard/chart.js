// A chart over time: lines, bands around them, and what happened, drawn by uPlot in the colours of the theme.

import uPlot from "./uplot/uPlot.esm.js";
import { clock } from "./format.js";
import { colour, onTheme } from "./theme.js";

const FONT = "12px system-ui, sans-serif";
const together = uPlot.sync("stream");

/**
 * A chart in a host element.
 *
 * series: [{ name: a colour of the theme, dash, fill, band }], each with the columns value (and low, high if band).
 * range(min, max): the limits of the y axis. tick(value): a label of it. log: powers of ten.
 * paint(u, context): draws more, above the lines. under(u, context): draws more, below them.
 * shading(i): how dark the band of a series is.
 * moved(index or null): called when somebody points at a moment.
 */
export class Chart {
  constructor(host, options) {
    this.host = host;
    this.options = options;
    this.resize = new ResizeObserver(() => this.fit());
    this.resize.observe(host);
    this.endTheme = onTheme(() => this.plot?.redraw(false, true));
    host.addEventListener("keydown", (event) => this.key(event));
  }

  /** Show columns: times, then those of each series. */
  show(columns) {
    this.columns = columns;
    if (!this.plot) this.build();
    else this.plot.setData(columns);
  }

  build() {
    const width = this.host.clientWidth;
    if (!width || !this.columns) return;
    this.plot = new uPlot(this.describe(width), this.columns, this.host);
  }

  describe(width) {
    const { series, log, range, tick, height, right = 26, top = 10, paint, under, moved, shading } = this.options;
    const lines = [{}];
    const bands = [];
    for (const [i, { name, dash, fill, band }] of series.entries()) {
      lines.push({
        stroke: () => colour(name),
        fill: fill ? () => colour(name, 0.16) : undefined,
        dash,
        width: 2,
        points: { show: false },
      });
      if (band) {
        const edge = { stroke: "transparent", width: 0, points: { show: false } };
        lines.push(edge, { ...edge });
        bands.push({ series: [lines.length - 1, lines.length - 2], fill: () => colour(name, shading?.(i) ?? 0.15) });
      }
    }
    const rule = { stroke: () => colour("--rule"), width: 1 };
    const axis = { stroke: () => colour("--ink-2"), font: FONT, grid: rule, ticks: { show: false } };
    const filter = (u, splits) => (log ? splits.map((v) => (isPower(v) ? v : null)) : splits);
    const context = (draw) => (u) => {
      u.ctx.save();
      draw(u, u.ctx);
      u.ctx.restore();
    };
    return {
      width,
      height: typeof height === "function" ? height(width) : height,
      padding: [top, typeof right === "function" ? right(width) : right, 0, 0],
      legend: { show: false },
      cursor: {
        sync: { key: together.key, setSeries: false },
        y: false,
        drag: { x: false, y: false },
        points: { size: 7, width: 1.5, fill: (u, i) => (u.series[i].width ? u.series[i].stroke(u, i) : "transparent"), stroke: () => "transparent" },
      },
      scales: { x: { time: true, range: wide }, y: { distr: log ? 3 : 1, range: (u, low, high) => range(low, high) } },
      axes: [
        { ...axis, space: 70, size: 28, grid: { show: false }, values: [
          [86400, "{D} {MMM}", null, null, null, null, null, null, 1],
          [3600, "{HH}:{mm}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
          [60, "{HH}:{mm}", null, null, null, null, null, null, 1],
          [1, "{HH}:{mm}:{ss}", null, null, null, null, null, null, 1],
        ] },
        { ...axis, space: log ? 22 : 34, size: 50, gap: 6, filter, grid: { ...rule, filter }, values: (u, splits) => splits.map((v) => (v === null ? "" : tick(v))) },
      ],
      series: lines,
      bands,
      hooks: {
        drawClear: under ? [context(under)] : [],
        draw: paint ? [context(paint)] : [],
        setCursor: [(u) => moved?.(u.cursor.idx !== undefined && u.cursor.left >= 0 ? u.cursor.idx : null)],
      },
    };
  }

  fit() {
    const width = this.host.clientWidth;
    if (!width) return;
    if (!this.plot) this.build();
    else if (width !== this.plot.width) {
      this.plot.destroy();
      this.build();
    }
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (!this.plot || (step === undefined && event.key !== "Escape")) return;
    event.preventDefault();
    const times = this.columns[0];
    const from = this.plot.cursor.left >= 0 ? this.plot.cursor.idx ?? times.length : times.length;
    const index = Math.max(0, Math.min(times.length - 1, from + step));
    const left = step === undefined ? -10 : this.plot.valToPos(times[index], "x");
    this.plot.setCursor({ left, top: 10 }, true, true);
  }

  /** Take the chart away. */
  destroy() {
    this.resize.disconnect();
    this.endTheme();
    this.plot?.destroy();
    this.plot = null;
  }
}

/** The limits of time: half a minute at least. */
function wide(u, low, high) {
  if (low === null) return [Date.now() / 1000 - 30, Date.now() / 1000];
  return high - low < 30 ? [high - 30, high] : [low, high];
}

function isPower(value) {
  const exponent = Math.log10(value);
  return Math.abs(exponent - Math.round(exponent)) < 1e-9;
}

/** Shade the times in which something was so: pairs of first and last moment. */
export function shade(u, ctx, spans, name) {
  ctx.fillStyle = colour(name, 0.1);
  for (const [from, to] of spans) {
    const left = Math.max(u.bbox.left, u.valToPos(from, "x", true));
    const right = Math.min(u.bbox.left + u.bbox.width, u.valToPos(to, "x", true));
    if (right > left) ctx.fillRect(left, u.bbox.top, right - left, u.bbox.height);
  }
}

/** A dashed line across, with a word on it. */
export function across(u, ctx, value, name, word) {
  const ratio = devicePixelRatio;
  const y = Math.round(u.valToPos(value, "y", true));
  if (y < u.bbox.top || y > u.bbox.top + u.bbox.height) return;
  ctx.strokeStyle = ctx.fillStyle = colour(name);
  ctx.lineWidth = ratio;
  ctx.setLineDash([4 * ratio, 4 * ratio]);
  ctx.beginPath();
  ctx.moveTo(u.bbox.left, y);
  ctx.lineTo(u.bbox.left + u.bbox.width, y);
  ctx.stroke();
  if (!word) return;
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.fillText(word, u.bbox.left + 4 * ratio, y - 4 * ratio);
}

export const timeOf = (columns, index) => clock(columns[0][index ?? columns[0].length - 1]);
