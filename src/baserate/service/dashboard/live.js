// Live updates: server-sent events, begun again with growing pauses while the server is away.

import { EVENTS } from "./api.js";

const PAUSES = [1, 2, 4, 8, 15, 30]; // seconds
const HIDDEN = 60_000; // milliseconds after which a page that nobody sees gives up its connection

/** A connection. `news(kind, data)`; `opened()` must fetch what was missed; `state(name, seconds until the next try)`. */
export class Live {
  constructor({ news, opened, state }) {
    Object.assign(this, { news, opened, state });
    this.tries = 0;
    document.addEventListener("visibilitychange", () => this.seen());
  }

  /** Connect now. */
  start() {
    this.stop();
    this.running = true;
    const source = new EventSource(EVENTS);
    this.source = source;
    source.onopen = async () => {
      try {
        await this.opened();
        this.tries = 0;
        this.state("live");
      } catch (error) {
        this.failed(error);
      }
    };
    source.onerror = async () => {
      source.close();
      try {
        await this.opened(); // tells a login that is needed from a server that is away
        this.failed();
      } catch (error) {
        this.failed(error);
      }
    };
    for (const kind of ["point", "event", "stream"]) {
      source.addEventListener(kind, (message) => this.news(kind, JSON.parse(message.data)));
    }
  }

  failed(error) {
    if (!this.running) return;
    this.source?.close();
    if (error?.status === 401) {
      this.stop();
      return;
    }
    const pause = PAUSES[Math.min(this.tries++, PAUSES.length - 1)];
    this.wait(pause);
  }

  wait(seconds) {
    this.state("gone", seconds);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (seconds > 1 ? this.wait(seconds - 1) : this.start()), 1000);
  }

  /** End the connection. */
  stop() {
    this.running = false;
    clearTimeout(this.timer);
    this.source?.close();
  }

  seen() {
    clearTimeout(this.hidden);
    if (document.hidden) {
      this.hidden = setTimeout(() => {
        this.asleep = this.running;
        this.stop();
      }, HIDDEN);
    } else if (this.asleep) {
      this.asleep = false;
      this.start();
    }
  }
}
