// Live: the service's events, with polling behind them. Screens read a revision for each topic, and ask again when it rises.
//
// EventSource cannot send a token, so the stream is read by fetch. While the tab is hidden there is none: browsers have few
// connections to a service, and nobody looks. What was missed comes by Last-Event-ID.

import { signal, type Signal } from "@preact/signals";
import { credentials, fetchText, reached, token } from "./client";

export type Topic = "graph" | "fleet" | "act" | "health";

const revisions: Record<Topic, Signal<number>> = { graph: signal(0), fleet: signal(0), act: signal(0), health: signal(0) };

export const revision = (topic: Topic): Signal<number> => revisions[topic];

/** Says that answers of a topic may have changed: after an act of our own, say. */
export function touch(...topics: Topic[]): void {
  for (const topic of topics) revisions[topic].value += 1;
}

export type Connection = "connecting" | "live" | "polling" | "lost";

export const connection = signal<Connection>("connecting");

/** Since when the service has not been reached; null while it is. */
export const lostSince = signal<number | null>(null);

/** What an event concerns. An act may change both the fleet and what is offered to managed clusters. */
const CONCERNS: Record<string, Topic[]> = {
  graph: ["graph", "fleet", "health"],
  reload: ["health"],
  fleet: ["fleet", "health"],
  act: ["act", "fleet"],
  reset: ["graph", "fleet", "act", "health"],
};

const POLL_EVERY = 15_000;
const RETRY_FIRST = 1_000;
const RETRY_AT_MOST = 30_000;

let lastId = "";
let stop: AbortController | undefined;

async function listen(signal: AbortSignal): Promise<"ended" | "unavailable"> {
  const headers: Record<string, string> = { accept: "text/event-stream", ...credentials() };
  if (lastId) headers["last-event-id"] = lastId;
  const response = await fetch("/api/v1/events", { headers, signal, cache: "no-store" });
  if (!response.ok || !response.body || !(response.headers.get("content-type") ?? "").startsWith("text/event-stream")) {
    await response.body?.cancel();
    return "unavailable";
  }
  restored("live");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return "ended";
    const lines = (rest + value).split(/\r?\n/);
    rest = lines.pop() ?? "";
    for (const line of lines) hear(line);
  }
}

let event = "";

function hear(line: string): void {
  if (line.startsWith("event:")) event = line.slice(6).trim();
  else if (line.startsWith("id:")) lastId = line.slice(3).trim();
  else if (line === "") {
    touch(...(CONCERNS[event] ?? []));
    event = "";
  }
}

function restored(how: Connection): void {
  const wasLost = connection.value === "lost";
  connection.value = how;
  lostSince.value = null;
  reached.value = true;
  if (wasLost) touch("graph", "fleet", "act", "health");
}

function lost(): void {
  if (connection.value !== "lost") lostSince.value = Date.now();
  connection.value = "lost";
}

let lastHealth = "";

/** Without events: what is served is asked for, and everything again if it is another graph, or each minute anyway. */
async function poll(): Promise<void> {
  try {
    const answer = await fetchText("/readyz", { also: [503] });
    restored("polling");
    const ready = JSON.parse(answer!.text) as { graph?: { digest?: string }; lastReload?: { at?: string }; fleet?: { lastPass?: string } };
    const health = JSON.stringify([ready.graph?.digest, ready.lastReload?.at, ready.fleet?.lastPass]);
    if (lastHealth && health !== lastHealth) touch("graph", "fleet", "act", "health");
    lastHealth = health;
  } catch {
    lost();
  }
}

const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });

async function follow(signal: AbortSignal): Promise<void> {
  let retry = RETRY_FIRST;
  while (!signal.aborted) {
    const outcome = await listen(signal).catch(() => "failed" as const);
    if (signal.aborted) return;
    if (outcome === "ended") {
      retry = RETRY_FIRST;
      await poll();
    } else {
      await poll();
      await pause(outcome === "unavailable" ? POLL_EVERY : retry, signal);
      retry = Math.min(retry * 2, RETRY_AT_MOST);
    }
  }
}

/** Starts to follow the service, and starts again when the token changes. */
export function followService(): void {
  const start = () => {
    stop?.abort();
    if (document.hidden) return;
    stop = new AbortController();
    void follow(stop.signal);
  };
  token.subscribe(start);
  document.addEventListener("visibilitychange", start);
}
