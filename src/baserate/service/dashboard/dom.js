// Elements, made without markup in strings: whatever a stream or a class is called stays text.

const SVG = "http://www.w3.org/2000/svg";

/** An element. `props`: attributes; `on...`: listeners; `vars`: CSS variables; children are nodes or text. */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** An element of SVG. */
export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "vars") for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Set text if it is another one, so that screen readers and selections are not disturbed. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Set an attribute if it is another one. */
export function mark(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/** Put children in order, moving only those that are elsewhere, so that focus stays. */
export function arrange(parent, children) {
  const wanted = new Set(children);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  children.forEach((child, i) => {
    if (parent.children[i] !== child) parent.insertBefore(child, parent.children[i] ?? null);
  });
}

/** Tell screen readers something without moving the focus. */
export function announce(text, { urgent = false } = {}) {
  document.getElementById(urgent ? "alarms" : "polite").textContent = text;
}
