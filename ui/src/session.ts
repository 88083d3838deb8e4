// Who sits here, and what is being looked at: asked at the start, after a change of the token, and after a reload.

import { effect, signal } from "@preact/signals";
import { fetchJson, token } from "./api/client";
import { revision } from "./api/live";
import type { Ready, Session } from "./api/types";

/** Null until the service has said it. */
export const session = signal<Session | null>(null);

/** What is served and how the last reload ended; null until the service has said it. */
export const ready = signal<Ready | null>(null);

/** Whether who sits here may do that, in some organisation at least. The service decides again about each act. */
export const may = (permission: string): boolean => session.value?.permissions.includes(permission) ?? false;

/** Who sits here, in a few words. */
export function callerWords(): string {
  const now = session.value;
  if (!now?.identity) return now?.tokenProblem ? "Token not accepted" : "Token";
  return now.identity.name;
}

/** The roles of who sits here, in a sentence. */
export function roleWords(): string {
  const roles = session.value?.roles ?? [];
  if (roles.length === 0) return "without a role: what is open to everybody";
  const said = roles.map(({ role, organisation }) => (organisation ? `${role} in ${organisation}` : role));
  return `${session.value?.identity?.name}: ${said.join(", ")}`;
}

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
