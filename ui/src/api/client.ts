// Asking the API: one request, its answer or why there is none. Nothing is judged here.

import { signal } from "@preact/signals";

/** Why there is no answer: the service's `kind` and sentence, or that it could not be reached. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly kind: string,
    value: string,
  ) {
    super(value);
  }
}

const TOKEN = "towpath-token";

/** The token of whoever sits here. It is kept until the tab is closed, and sent to this service only. */
export const token = signal(sessionStorage.getItem(TOKEN) ?? "");

export function useToken(value: string): void {
  if (value) sessionStorage.setItem(TOKEN, value);
  else sessionStorage.removeItem(TOKEN);
  token.value = value;
}

export function credentials(): Record<string, string> {
  return token.value ? { authorization: `Bearer ${token.value}` } : {};
}

export type Query = Record<string, string | number | boolean | null | undefined>;

/** An address of the API with its query. Empty values are left out. */
export function url(path: string, query: Query = {}): string {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "" && value !== false) parts.set(name, String(value));
  }
  const text = parts.toString();
  return text ? `${path}?${text}` : path;
}

export interface Fetched {
  text: string;
  etag: string | null;
}

/** Whether the last request reached the service. */
export const reached = signal(true);

async function send(address: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(address, init);
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    reached.value = false;
    throw new ApiError(0, "unreachable", "the service cannot be reached");
  }
  if (response.status === 502 || response.status === 504) {
    reached.value = false;
    throw new ApiError(response.status, "unreachable", "the service cannot be reached");
  }
  reached.value = true;
  return response;
}

async function refusal(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    const body = JSON.parse(text) as { kind?: string; value?: string };
    return new ApiError(response.status, body.kind ?? "unknown", body.value ?? response.statusText);
  } catch {
    return new ApiError(response.status, "unknown", text.slice(0, 200) || response.statusText || `status ${response.status}`);
  }
}

/** The text of an answer, or null if it is the one with that tag. `also` are states that have an answer too. */
export async function fetchText(
  address: string,
  { signal, etag, also = [] }: { signal?: AbortSignal; etag?: string | null; also?: number[] } = {},
): Promise<Fetched | null> {
  const headers: Record<string, string> = { accept: "application/json", ...credentials() };
  if (etag) headers["if-none-match"] = etag;
  const response = await send(address, { headers, signal, cache: "no-store" });
  if (response.status === 304) return null;
  if (!response.ok && !also.includes(response.status)) throw await refusal(response);
  return { text: await response.text(), etag: response.headers.get("etag") };
}

export async function fetchJson<T>(address: string, also: number[] = []): Promise<T> {
  const fetched = await fetchText(address, { also });
  return JSON.parse(fetched!.text) as T;
}

/** An act of a person. The same check applies as for every caller of the API. */
export async function post<T>(address: string, body: unknown): Promise<T> {
  const response = await send(address, {
    method: "POST",
    headers: { accept: "application/json", "content-type": "application/json", ...credentials() },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw await refusal(response);
  const text = await response.text();
  return (text ? JSON.parse(text) : null) as T;
}
