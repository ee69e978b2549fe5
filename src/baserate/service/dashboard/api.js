// Requests to the service. Addresses are relative, so that a proxy may put the service under a path of its own.

/** An answer that is not a success: its status, and words for people. */
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(method, path, body) {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      credentials: "same-origin",
      headers: body === undefined ? { accept: "application/json" } : { accept: "application/json", "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(15000),
    });
  } catch {
    throw new Refusal(0, "The server does not answer.");
  }
  const text = await answer.text();
  let said = null;
  try {
    said = text ? JSON.parse(text) : null;
  } catch { /* not JSON: a proxy's page, perhaps */ }
  if (!answer.ok) throw new Refusal(answer.status, message(said) ?? `The server answered ${answer.status}.`);
  return said;
}

function message(said) {
  const found = said?.error;
  return typeof found === "string" && found ? found[0].toUpperCase() + found.slice(1) : null;
}

const at = (name) => `v1/streams/${encodeURIComponent(name)}`;

export const listStreams = async () => (await ask("GET", "v1/streams")).streams;
export const getStream = (name) => ask("GET", at(name));
export const getHistory = (name, seconds, points = 500) => ask("GET", `${at(name)}/history?points=${points}&seconds=${seconds}`);
export const getRequests = async (name, n) => (await ask("GET", `${at(name)}/requests?n=${n}`)).requests;
export const sendLabels = (name, ids, labels) => ask("POST", `${at(name)}/labels`, { ids, labels });
export const setShadow = (name, shadow) => ask("PATCH", at(name), { shadow });
export const getSession = () => ask("GET", "v1/session");
export const login = (key) => ask("POST", "login", { key });
export const logout = () => ask("POST", "logout", {});
export const EVENTS = "v1/events";
