// Rows worth labelling, to be filled in by people.

import { getRequests, sendLabels } from "./api.js";
import { announce, h, say } from "./dom.js";
import { ago, many, share } from "./format.js";

const ASKED = 6;
const BUTTONS = 4; // up to so many classes are radio buttons, more are a list to choose from

/** The panel. */
export function requestPanel(name, classes, scope) {
  const said = h("p", { class: "result" });
  const rows = h("div", { class: "requests" });
  const send = h("button", { type: "submit", class: "main", disabled: true }, "Send labels");
  const other = h("button", { type: "button", class: "quiet", onclick: () => load() }, "Show other rows");
  const allowed = scope !== "read";
  const form = h("form", { onsubmit: submit, onchange: tally }, rows, h("div", { class: "form-foot" }, allowed ? send : h("span", { class: "hint" }, "To send labels, sign in with a key of the scope adapt."), other, said));
  let busy = false;

  function answers() {
    return [...new FormData(form).entries()].filter(([, column]) => column !== "").map(([id, column]) => [id, classes[Number(column)]]);
  }

  function tally() {
    const n = answers().length;
    send.disabled = busy || n === 0;
    say(send, n ? `Send ${many(n, "label")}` : "Send labels");
  }

  async function load(keep = false) {
    try {
      const found = await getRequests(name, ASKED);
      rows.replaceChildren(...found.map((row, i) => requestRow(row, classes, i)));
      for (const input of rows.querySelectorAll("input, select")) input.disabled = !allowed;
      form.classList.toggle("none", !found.length);
      if (!found.length) {
        rows.append(
          h("p", { class: "empty" }, "No rows wait for a label. Rows can be labelled later if they are sent with ids: ", h("code", {}, '{"proba": […], "ids": ["order-1", …]}'), "."),
        );
      }
      if (!keep) say(said, "");
    } catch (error) {
      rows.replaceChildren(h("p", { class: "empty" }, error.message));
    }
    other.hidden = false;
    tally();
  }

  async function submit(event) {
    event.preventDefault();
    const given = answers();
    if (!given.length || busy) return;
    busy = true;
    tally();
    try {
      const { found } = await sendLabels(name, given.map(([id]) => id), given.map(([, label]) => label));
      say(said, `${many(found, "label")} taken in${found < given.length ? `; ${given.length - found} came too late for their row` : ""}.`);
      await load(true);
    } catch (error) {
      say(said, `Not sent. ${error.message}`);
    }
    busy = false;
    tally();
    announce(said.textContent);
  }

  load();
  return h(
    "section",
    { class: "card", "aria-labelledby": "requests-title" },
    h("div", { class: "card-head" }, h("h2", { id: "requests-title" }, "Rows worth labelling"), h("p", { class: "hint" }, "A few labels tell whether the correction helps.")),
    form,
  );
}

function requestRow(row, classes, i) {
  const best = row.proba.map((p, c) => [p, c]).sort((a, b) => b[0] - a[0]).slice(0, 3);
  const guess = best.map(([p, c], place) => [place ? ", " : "Model: ", h("span", { class: "nobr" }, `${classes[c]}: ${share(p)}`)]);
  const name = h("span", { class: "id", id: `request-${i}` }, row.id);
  const why = [row.reason, row.since ? ago(row.since) : ""].filter(Boolean).join(" · ");
  const about = h("div", { class: "about" }, name, h("span", {}, guess), h("span", { class: "hint" }, why));
  return h("div", { class: "request" }, about, classes.length > BUTTONS ? list(row, classes, i) : buttons(row, classes, i));
}

function list(row, classes, i) {
  const options = classes.map((label, c) => h("option", { value: c }, String(label)));
  return h("select", { name: row.id, "aria-labelledby": `request-${i}` }, h("option", { value: "" }, "Not labelled"), options);
}

function buttons(row, classes, i) {
  const option = (value, word) => h("label", {}, h("input", { type: "radio", name: row.id, value, checked: value === "" }), word);
  return h("div", { class: "choice", role: "radiogroup", "aria-labelledby": `request-${i}` }, option("", "Skip"), classes.map((label, c) => option(c, String(label))));
}
