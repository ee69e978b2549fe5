// Numbers for people.

const THIN = "\u202f"; // a narrow space that does not break
const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });

/** How many decimals a percentage needs for two digits or more that tell something. */
function decimals(percent) {
  const size = Math.abs(percent);
  if (size >= 99.95 || size === 0) return 0;
  if (size >= 1) return 1;
  return size >= 0.1 ? 2 : 3;
}

/** A share: 9.8 %, 0.84 %, under 0.001 %. */
export function share(value) {
  if (!Number.isFinite(value)) return "–";
  const percent = 100 * value;
  if (percent > 0 && percent < 0.001) return `<${THIN}0.001${THIN}%`;
  return `${percent.toFixed(decimals(percent))}${THIN}%`;
}

/** A range of shares: 8.1–11.6 %. Both ends have as many decimals as the upper one needs. */
export function shares(low, high) {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return "–";
  const places = decimals(100 * (100 * high >= 99.95 ? low : high));
  return `${(100 * low).toFixed(places)}–${(100 * high).toFixed(places)}${THIN}%`;
}

/** Now against then: "4.2 times", "a third", "about the same". */
export function change(now, then) {
  if (!(now > 0) || !(then > 0)) return "–";
  const ratio = now / then;
  if (ratio >= 100) return `×${THIN}${whole.format(ratio)}`;
  if (ratio >= 9.95) return `×${THIN}${ratio.toFixed(0)}`;
  return `×${THIN}${ratio.toFixed(ratio < 0.1 ? 2 : 1)}`;
}

/** A whole number: 1,234; 5.68 million. */
export function count(value) {
  if (!Number.isFinite(value)) return "–";
  if (value >= 1e9) return `${(value / 1e9).toPrecision(3)} billion`;
  if (value >= 1e6) return `${(value / 1e6).toPrecision(3)} million`;
  return whole.format(value);
}

/** So many of something: "1 round", "12 rounds". */
export function many(value, noun) {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** Rows a second. */
export function rate(value) {
  if (!Number.isFinite(value)) return "–";
  if (value > 0 && value < 0.1) return "<\u202f0.1";
  return value < 10 && value > 0 ? value.toFixed(1) : count(Math.round(value));
}

/** Evidence against label shift, which may be huge. */
export function evidence(value) {
  if (!Number.isFinite(value)) return "–";
  if (value >= 1e100) return `>${THIN}10${raised(99)}`;
  if (value < 9.95) return value.toFixed(1);
  if (value < 1e5) return whole.format(value);
  const power = Math.floor(Math.log10(value));
  return `${(value / 10 ** power).toFixed(1)}${THIN}×${THIN}10${raised(power)}`;
}

function raised(power) {
  return String(power).replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).replace("-", "⁻");
}

/** The label of an axis of powers of ten. */
export function power(value) {
  const exponent = Math.round(Math.log10(value));
  return exponent >= 0 && exponent <= 3 ? whole.format(value) : `10${raised(exponent)}`;
}

/** How long ago: "just now", "12 s ago", "5 min ago". */
export function ago(at, now = Date.now() / 1000) {
  if (!at) return "never";
  const seconds = Math.max(0, now - at);
  if (seconds < 3) return "just now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86400)} days ago`;
}

/** The time of day, with the day if it is another one. */
export function clock(at, now = Date.now() / 1000) {
  const when = new Date(at * 1000);
  const time = when.toLocaleTimeString("en-GB");
  if (when.toDateString() === new Date(now * 1000).toDateString()) return time;
  return `${when.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} ${time}`;
}

/** A clause of the library as a sentence. */
export function sentence(text) {
  text = (text ?? "").replaceAll("+-", "±");
  return text ? `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}` : "";
}
