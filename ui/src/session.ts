// Who sits here, and what is being looked at: asked at the start, after a change of the token, and after a reload.

import { effect, signal } from "@preact/signals";
import { fetchJson, token } from "./api/client";
import { revision } from "./api/live";
import type { Ready, Session } from "./api/types";

/** Null until the service has said it. */
export const session = signal<Session | null>(null);

/** What is served and how the last reload ended; null until the service has said it. */
export const ready = signal<Ready | null>(null);

/** Whether the service has said who sits here, or that nobody could be asked. */
export const callerIsKnown = signal(false);

const LEEWAY_MS = 61_000;
/** Browsers count no farther than 24 days. */
const LONGEST_WAIT_MS = 86_400_000;

/** Answers for a token that has been given up since are left out. */
async function askSession(): Promise<void> {
  const asked = token.peek();
  const answer = await fetchJson<Session>("/api/v1/session").catch(() => null);
  if (asked !== token.peek()) return;
  if (answer) session.value = answer;
  callerIsKnown.value = true;
}

/**
 * Whether who sits here may do that, in some organisation at least. The service decides again about each act, so it is not denied
 * before the service has said who that is.
 */
export const may = (permission: string): boolean => session.value === null || session.value.permissions.includes(permission);

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
  // What one person may do says nothing about the next one.
  effect(() => {
    token.value;
    session.value = null;
    callerIsKnown.value = false;
  });
  effect(() => {
    token.value;
    revision("health").value;
    void askSession();
  });
  // A login ends by itself: then the service is asked again. It takes a token for a minute longer.
  effect(() => {
    const ends = session.value?.identity?.ends;
    if (!ends) return;
    const left = Math.min(Math.max(Date.parse(ends) + LEEWAY_MS - Date.now(), 1_000), LONGEST_WAIT_MS);
    const timer = setTimeout(() => void askSession(), left);
    return () => clearTimeout(timer);
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
