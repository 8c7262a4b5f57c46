// Asks the API and keeps the line for live events; says when the line is lost and since when.

const QUIET_MS = 12_000; // the server sends every second: longer silence means the line is dead
const RETRY_MS = 2_000;

export class Away extends Error {}

/** One answer of the API; throws Away with its sentence when there is none. */
export async function ask(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== "");
  const search = new URLSearchParams(given).toString();
  let answer;
  try {
    answer = await fetch(`/api/v1${path}${search ? `?${search}` : ""}`);
  } catch {
    throw new Away("The server does not answer.");
  }
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Away(body.error ?? answer.statusText), { status: answer.status });
  return body;
}

export const meterPath = (name) => `/meters/${encodeURIComponent(name)}`;

/** Live events that reconnect by themselves. `handlers`: one function an event, `open(again)` and `lost(since)`. */
export function listen(meter, handlers) {
  let source = null;
  let lastHeard = Date.now();
  let lostSince = null;
  let everOpen = false;

  const connect = () => {
    source?.close();
    source = new EventSource(`/api/v1/live${meter ? `?meter=${encodeURIComponent(meter)}` : ""}`);
    for (const name of ["fleet", "reading", "alert", "alerts", "health"]) {
      source.addEventListener(name, (event) => {
        heard();
        handlers[name]?.(JSON.parse(event.data));
      });
    }
    source.addEventListener("error", () => {
      lose();
      // After an answer that is no stream the browser gives up for good: begin anew.
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, RETRY_MS);
    });
  };
  const heard = () => {
    lastHeard = Date.now();
    if (!everOpen || lostSince !== null) handlers.open(everOpen);
    everOpen = true;
    lostSince = null;
  };
  const lose = () => {
    lostSince ??= lastHeard;
    handlers.lost(lostSince);
  };
  const check = () => {
    if (Date.now() - lastHeard > QUIET_MS) {
      lose();
      lastHeard = Date.now();
      connect();
    }
  };
  setInterval(check, 3_000);
  document.addEventListener("visibilitychange", () => document.hidden || check());
  window.addEventListener("pagehide", () => source?.close());
  connect();
}
