// The state of a stream in a word, a sign and a sentence: never by colour alone.

import { h, mark, say } from "./dom.js";

const STATES = {
  alarm: { sign: "▲", word: "Alarm" },
  fallback: { sign: "◐", word: "Correction" },
  shadow: { sign: "◌", word: "Shadow mode" },
  waiting: { sign: "○", word: "No data yet" },
  fine: { sign: "●", word: "Tracking" },
};

/** The state of a stream. */
export function stateOf(stream) {
  if (stream.alarm) return "alarm";
  if (stream.shadow) return "shadow"; // before a reduced correction: none is used
  if (stream.fallback) return "fallback";
  return stream.rows ? "fine" : "waiting";
}

/** The part of the correction that is in use: "off", "40 %", and never "100 %" for less. */
export function part(weight) {
  return weight <= 0 ? "off" : `${Math.max(1, Math.floor(100 * weight))}\u202f%`;
}

/** A badge, and the function that keeps it up to date. */
export function badge() {
  const sign = h("span", { "aria-hidden": "true", class: "sign" });
  const word = h("span");
  const element = h("span", { class: "badge" }, sign, word);
  return {
    element,
    update(stream) {
      const state = stateOf(stream);
      mark(element, "data-state", state);
      say(sign, STATES[state].sign);
      say(word, state === "fallback" ? `Correction ${part(stream.weight)}` : STATES[state].word);
    },
  };
}
