// The switch for shadow mode. It changes what the model's users get, so it asks first.

import { setShadow } from "./api.js";
import { announce, h, mark } from "./dom.js";

/** The switch. `changed(stream)` gets the server's answer. */
export function shadowSwitch(name, changed) {
  let on = false;
  const button = h("button", { type: "button", role: "switch", class: "switch", "aria-checked": "false", onclick: () => ask() }, h("span", { class: "knob", "aria-hidden": "true" }), "Shadow mode");
  const title = h("h2", { id: "shadow-title" });
  const text = h("p");
  const wrong = h("p", { class: "wrong", role: "alert" });
  const yes = h("button", { type: "button", class: "main", onclick: () => apply() });
  const dialog = h("dialog", { "aria-labelledby": "shadow-title" }, title, text, wrong, h("div", { class: "form-foot" }, yes, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel")));

  function ask() {
    title.textContent = on ? "Turn shadow mode off?" : "Turn shadow mode on?";
    text.textContent = on
      ? "Answers will be corrected for the tracked class mix, from the next request on."
      : "The class mix is still tracked and shown, but answers will be the model's own, from the next request on.";
    yes.textContent = on ? "Turn off" : "Turn on";
    wrong.textContent = "";
    dialog.showModal();
  }

  async function apply() {
    yes.disabled = true;
    try {
      changed(await setShadow(name, !on));
      announce(`Shadow mode is ${on ? "on" : "off"}.`);
      dialog.close();
    } catch (error) {
      wrong.textContent = error.message;
    }
    yes.disabled = false;
  }

  return {
    element: h("div", { class: "shadow" }, button, dialog),
    update(stream) {
      on = stream.shadow;
      mark(button, "aria-checked", on);
    },
  };
}
