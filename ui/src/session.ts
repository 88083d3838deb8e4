// Who sits here, and what is being looked at: asked at the start, after a change of the token, and after a reload.

import { effect, signal } from "@preact/signals";
import { fetchJson, token } from "./api/client";
import { revision } from "./api/live";
import type { Ready, Session } from "./api/types";

/** Null until the service has said it. */
export const session = signal<Session | null>(null);

/** What is served and how the last reload ended; null until the service has said it. */
export const ready = signal<Ready | null>(null);

export function followSession(): void {
  effect(() => {
    token.value;
    revision("health").value;
    fetchJson<Session>("/api/v1/session").then(
      (answer) => (session.value = answer),
      () => undefined,
    );
  });
  effect(() => {
    token.value;
    revision("health").value;
    fetchJson<Ready>("/readyz", [503]).then(
      (answer) => (ready.value = answer),
      () => undefined,
    );
  });
}
