// Light and dark: the system's choice, until somebody chooses; and the colours for what is drawn on canvases.

import { say } from "./dom.js";

const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();
const known = new Map();

function isDark() {
  return document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : system.matches;
}

function changed(button) {
  known.clear();
  say(button, isDark() ? "☀ Light" : "☾ Dark");
  button.setAttribute("aria-label", isDark() ? "Light: use light colours" : "Dark: use dark colours");
  for (const listener of listeners) listener();
}

/** Make a button that switches, and remembers. */
export function bindTheme(button) {
  button.addEventListener("click", () => {
    const chosen = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = chosen;
    try {
      localStorage.setItem("baserate-theme", chosen);
    } catch { /* not remembered, then */ }
    changed(button);
  });
  system.addEventListener("change", () => changed(button));
  changed(button);
}

/** Call a function whenever the colours change; returns a function that ends it. */
export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The value of a colour of theme.css, such as "--line-0", with an opacity. */
export function colour(name, opacity = 1) {
  const key = `${name} ${opacity}`;
  if (!known.has(key)) {
    const probe = document.createElement("span");
    probe.style.color = `color-mix(in srgb, var(${name}) ${100 * opacity}%, transparent)`;
    document.body.append(probe);
    known.set(key, getComputedStyle(probe).color);
    probe.remove();
  }
  return known.get(key);
}

const LINES = 6;

/** The colour of a line, and its dashes: colours that colour-blind eyes tell apart, then the same with dashes. */
export function lineStyle(i) {
  const dashes = [[], [8, 4], [2, 4], [10, 3, 2, 3]];
  return { name: `--line-${i % LINES}`, dash: dashes[Math.floor(i / LINES) % dashes.length] };
}
