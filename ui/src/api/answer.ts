// An answer of the API that stays up to date: asked again when the service says that something changed, when the
// token changes, and each minute, because answers depend on the time. What is the same but for the time that it was made
// stays the same value, so that nothing moves.

import { effect, signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { ApiError, fetchText, token, type Fetched } from "./client";
import { revision, type Topic } from "./live";

export interface Answer<T> {
  data?: T;
  error?: ApiError;
  /** Nothing has been shown yet. */
  loading: boolean;
  /** What is shown is an older answer: the newest request failed, or its question has changed and the answer is awaited. */
  stale: boolean;
  /** When `data` came. */
  receivedAt?: number;
}

interface Kept {
  text: string;
  etag: string | null;
  data: unknown;
  at: number;
}

/** An answer's text without the time that it was made, wherever that stands in it. */
function withoutTime(entry: { text: string; data: unknown }): string {
  const made = (entry.data as { at?: unknown } | null)?.at;
  return typeof made === "string" ? entry.text.replaceAll(made, "") : entry.text;
}

const KEPT_AT_MOST = 40;
const kept = new Map<string, Kept>();

// What one person was answered is not for the next one.
token.subscribe(() => kept.clear());

function keep(address: string, entry: Kept): void {
  kept.delete(address);
  kept.set(address, entry);
  for (const oldest of kept.keys()) {
    if (kept.size <= KEPT_AT_MOST) break;
    kept.delete(oldest);
  }
}

/** Counts the minutes, while the page is looked at. */
const minute = signal(0);
setInterval(() => {
  if (!document.hidden) minute.value += 1;
}, 60_000);

interface Options {
  /** Which events concern the answer. */
  topic?: Topic;
  /** States other than 200 that have an answer: 503 of /readyz. */
  also?: number[];
  /** The answer does not change as time goes by. */
  timeless?: boolean;
}

/** Asks the address, and asks again when that makes sense. A null address asks nothing. */
export function useAnswer<T>(address: string | null, { topic = "graph", also, timeless }: Options = {}): Answer<T> {
  const [state, setState] = useState<Answer<T> & { address: string | null }>(() => first<T>(address));
  useEffect(() => {
    if (address === null) {
      setState({ address, loading: false, stale: false });
      return;
    }
    let ended = false;
    let running: AbortController | undefined;
    let askedWith = token.peek();
    setState((before) => (before.address === address ? before : { ...first<T>(address), ...older(before, address) }));
    const ask = async () => {
      running?.abort();
      const controller = (running = new AbortController());
      const asks = token.peek();
      const before = kept.get(address);
      try {
        const fetched = await fetchText(address, { signal: controller.signal, etag: before?.etag ?? null, also });
        if (ended || controller.signal.aborted || asks !== token.peek()) return;
        const entry = newest(before, fetched);
        keep(address, entry);
        setState({ address, data: entry.data as T, loading: false, stale: false, receivedAt: entry.at });
      } catch (error) {
        if (ended || controller.signal.aborted) return;
        const known = error instanceof ApiError ? error : new ApiError(0, "unreadable", "the answer cannot be read");
        // A refusal is an answer: what it was before is not shown beside it. An outage leaves what there was.
        const gone = known.status >= 400 && known.status < 500;
        setState((was) => ({ address, data: gone ? undefined : was.data, receivedAt: was.receivedAt, error: known, loading: false, stale: !gone && was.data !== undefined }));
      }
    };
    const dispose = effect(() => {
      revision(topic).value;
      if (token.value !== askedWith) {
        askedWith = token.value;
        setState({ address, loading: true, stale: false });
      }
      if (!timeless) minute.value;
      void ask();
    });
    return () => {
      ended = true;
      running?.abort();
      dispose();
    };
  }, [address, topic, timeless]);
  return state.address === address ? state : { ...first<T>(address), ...older(state, address) };
}

function first<T>(address: string | null): Answer<T> & { address: string | null } {
  const before = address === null ? undefined : kept.get(address);
  if (before) return { address, data: before.data as T, loading: false, stale: false, receivedAt: before.at };
  return { address, loading: address !== null, stale: false };
}

/** What is kept of an answer: what there was, if it says the same. */
function newest(before: Kept | undefined, fetched: Fetched | null): Kept {
  const at = Date.now();
  if (!fetched) return { ...before!, at };
  if (fetched.text === before?.text) return { ...before, etag: fetched.etag, at };
  const read = { text: fetched.text, etag: fetched.etag, data: JSON.parse(fetched.text) as unknown, at };
  return before && withoutTime(before) === withoutTime(read) ? { ...before, etag: fetched.etag, at } : read;
}

/** The answer to the question before stays while the new one is asked, if only its query differs. */
function older<T>(before: Answer<T> & { address: string | null }, address: string | null): Partial<Answer<T>> {
  if (address === null || kept.has(address) || before.data === undefined || before.address === null) return {};
  if (before.address.split("?")[0] !== address.split("?")[0]) return {};
  return { data: before.data, receivedAt: before.receivedAt, loading: false, stale: true };
}
