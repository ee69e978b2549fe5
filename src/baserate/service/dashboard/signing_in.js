// The login: an API key for a cookie.

import { login } from "./api.js";
import { h } from "./dom.js";

/** The page. `done()` is called when the server has taken the key. */
export function signInPage(done) {
  const wrong = h("p", { class: "wrong", role: "alert" });
  const key = h("input", { type: "password", id: "key", name: "key", autocomplete: "current-password", required: true, spellcheck: "false" });
  const button = h("button", { type: "submit", class: "main" }, "Sign in");

  async function submit(event) {
    event.preventDefault();
    button.disabled = true;
    wrong.textContent = "";
    try {
      await login(key.value.trim());
      key.value = "";
      done();
    } catch (error) {
      wrong.textContent = error.status === 401 ? "This is not an API key of this server, or it has been revoked." : error.message;
      key.select();
    }
    button.disabled = false;
  }

  return {
    element: h(
      "section",
      { class: "card sign-in" },
      h("h1", {}, "Sign in"),
      h("form", { onsubmit: submit }, h("label", { for: "key" }, "API key"), key, button, wrong),
      h("p", { class: "hint" }, "A key with the scope ", h("code", {}, "read"), " is enough to look. Labels need ", h("code", {}, "adapt"), ", shadow mode needs ", h("code", {}, "admin"), ". Make one on the server: ", h("code", {}, "baserate serve keys create --scope read --data DIR")),
    ),
    title: "Sign in",
    focus: key,
  };
}
