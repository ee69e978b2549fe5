// The classes of a stream as a table: what is drawn, and the same figures for those who do not see the chart.

import { arrange, h, mark, say, svg } from "./dom.js";
import { change, many, share, shares } from "./format.js";
import { lineStyle } from "./theme.js";

const FIRST = 6;
/** The most lines that a chart holds before it is a tangle. */
export const MOST = 12;

/** The table. `chosen(columns)` is called when other classes are to be drawn, `pointed(column)` for one to stand out. */
export function classTable(stream, order, chosen, pointed) {
  const styles = new Map();
  const rows = new Map();
  let drawn = [];
  let all = order.length <= FIRST + 2;
  let current = stream;
  const body = h("tbody");
  const more = h("button", { type: "button", class: "quiet wide", onclick: () => { all = !all; place(); } });
  const table = h(
    "table",
    { class: "classes" },
    h("caption", { class: "unseen" }, "Class mix now. A button before each class draws it in the chart."),
    h("thead", {}, h("tr", {}, ...["Class", "Now", "90\u202f% band", "In training", "Change"].map((word, i) => h("th", { scope: "col", class: i ? "number" : "" }, word)))),
    body,
  );

  function styleOf(column) {
    if (!styles.has(column)) {
      const taken = new Set([...styles.entries()].filter(([c]) => drawn.includes(c)).map(([, i]) => i));
      let i = 0;
      while (taken.has(i)) i += 1;
      styles.set(column, i);
    }
    return lineStyle(styles.get(column));
  }

  function draw(columns) {
    for (const gone of drawn) if (!columns.includes(gone)) styles.delete(gone);
    drawn = columns;
    for (const column of columns) styleOf(column);
    for (const [column, row] of rows) row.dress(drawn.includes(column) ? styleOf(column) : null);
    chosen(drawn.map((column) => ({ column, ...styleOf(column) })));
  }

  function toggle(column) {
    if (drawn.includes(column)) draw(drawn.filter((other) => other !== column));
    else draw([...drawn, column].slice(-MOST));
  }

  function rowOf(column) {
    if (!rows.has(column)) {
      rows.set(column, classRow(current, column, () => toggle(column)));
      for (const kind of ["mouseenter", "focusin"]) rows.get(column).element.addEventListener(kind, () => pointed(column));
      for (const kind of ["mouseleave", "focusout"]) rows.get(column).element.addEventListener(kind, () => pointed(null));
      rows.get(column).dress(drawn.includes(column) ? styleOf(column) : null);
    }
    return rows.get(column);
  }

  function place() {
    const shown = all ? order : order.slice(0, FIRST);
    arrange(body, shown.map((column) => rowOf(column).element));
    for (const column of shown) rowOf(column).update(current);
    more.hidden = order.length <= FIRST + 2;
    say(more, all ? `Show only the ${FIRST} that moved most` : `Show ${many(order.length - FIRST, "more class").replace("classs", "classes")}`);
    mark(more, "aria-expanded", all);
  }

  place();
  return {
    element: h("div", { class: "class-panel" }, table, more),
    draw,
    update(next) {
      current = next;
      for (const column of all ? order : order.slice(0, FIRST)) rowOf(column).update(next);
    },
  };
}

function classRow(stream, column, toggle) {
  const line = svg("line", { x1: 0, y1: 5, x2: 22, y2: 5 });
  const swatch = svg("svg", { class: "swatch", viewBox: "0 0 22 10", "aria-hidden": "true" }, line);
  const name = String(stream.classes[column]);
  const button = h("button", { type: "button", class: "class", "aria-pressed": "false", onclick: toggle, title: name }, swatch, h("span", {}, name));
  const [now, band, then, moved] = [1, 2, 3, 4].map(() => h("td", { class: "number" }));
  const bar = h("span", { class: "bar", "aria-hidden": "true" }, h("i"), h("u"));
  now.append(h("span", {}), bar);
  return {
    element: h("tr", {}, h("th", { scope: "row" }, button), now, band, then, moved),
    dress(style) {
      mark(button, "aria-pressed", style !== null);
      swatch.style.setProperty("stroke", style ? `var(${style.name})` : "var(--rule-strong)");
      line.setAttribute("stroke-dasharray", style ? style.dash.map((d) => d / 1.5).join(" ") : "1 3");
      bar.style.setProperty("--tint", style ? `var(${style.name})` : "var(--ink-3)");
    },
    update(next) {
      const [q, p] = [next.prior[column], next.source_prior[column]];
      say(now.firstChild, share(q));
      const full = Math.max(...next.prior, ...next.source_prior);
      bar.style.setProperty("--now", `${(100 * q) / full}%`);
      bar.style.setProperty("--then", `${(100 * p) / full}%`);
      say(band, next.low ? shares(next.low[column], next.high[column]) : "–");
      say(then, share(p));
      say(moved, change(q, p));
    },
  };
}
