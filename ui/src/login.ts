// Logging in with the issuer: the authorization code flow with PKCE, of a public client.
//
// The page goes to the issuer and comes back to /login with a code. The service gets the token for the code, checks it, and
// hands it to the page, which keeps it as any other token. What belongs to a login under way stands in this tab alone.

import { signal } from "@preact/signals";
import { ApiError, post, useToken } from "./api/client";
import { go } from "./address";
import type { Login } from "./api/types";

const PENDING = "towpath-login";
/** Where the issuer sends the page back to. */
const PATH = "/login";

interface Pending {
  state: string;
  nonce: string;
  verifier: string;
  /** Where the person was. */
  back: string;
}

interface LoggedIn {
  token: string;
  name: string;
  ends: string;
}

/** How far the login is that came back to this address; null if none did. */
export const returning = signal<{ problem: string | null } | null>(location.pathname === PATH ? { problem: null } : null);

/** Random, and fit for an address. */
function random(bytes: number): string {
  return encoded(crypto.getRandomValues(new Uint8Array(bytes)));
}

function encoded(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Goes to the issuer. Nothing comes back but to this page. */
export async function logIn(login: Login): Promise<void> {
  // Browsers have this on https and on this machine alone.
  if (!crypto.subtle) {
    returning.value = { problem: "Logging in needs https: this page was loaded without it." };
    go(PATH);
    return;
  }
  const pending: Pending = { state: random(32), nonce: random(32), verifier: random(48), back: here() };
  const challenge = encoded(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(pending.verifier))));
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  const address = new URL(login.authorizationEndpoint);
  const asked = {
    response_type: "code",
    client_id: login.clientId,
    redirect_uri: location.origin + PATH,
    scope: login.scope,
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: challenge,
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(asked)) address.searchParams.set(name, value);
  location.assign(address.href);
}

/** What is being looked at. A login that failed begins again where the first one did. */
function here(): string {
  if (location.pathname !== PATH) return location.pathname + location.search + location.hash;
  return read()?.back ?? "/";
}

function read(): Pending | null {
  try {
    const kept = JSON.parse(sessionStorage.getItem(PENDING) ?? "null") as Pending | null;
    // An address of this page, and not the name of another host.
    return kept && /^\/(?![/\\])/.test(kept.back) ? kept : null;
  } catch {
    return null;
  }
}

/** Ends the login that came back, if one did. It counts once: whatever becomes of it, it is forgotten. */
export async function finishLogin(): Promise<void> {
  if (!returning.value) return;
  const words = new URLSearchParams(location.search);
  const pending = read();
  // The code is in the address no longer than this.
  history.replaceState(null, "", PATH);
  const failed = (problem: string) => void (returning.value = { problem });
  if (!pending || words.get("state") !== pending.state) {
    return failed("This answer belongs to no login that was begun in this tab. Log in again.");
  }
  sessionStorage.setItem(PENDING, JSON.stringify({ ...pending, state: random(32) }));
  const code = words.get("code");
  if (!code) {
    const said = [words.get("error"), words.get("error_description")].filter(Boolean).join(": ");
    return failed(`The issuer did not log you in${said ? ` (${said.slice(0, 300)})` : ""}. Log in again.`);
  }
  try {
    const { verifier, nonce } = pending;
    const found = await post<LoggedIn>("/api/v1/login/token", { code, verifier, nonce, redirectUri: location.origin + PATH });
    sessionStorage.removeItem(PENDING);
    useToken(found.token);
    returning.value = null;
    go(pending.back, { replace: true });
  } catch (error) {
    failed(error instanceof ApiError ? `You are not logged in: ${error.message}.` : "You are not logged in: the answer cannot be read.");
  }
}

/** Forgets the token. */
export function logOut(): void {
  useToken("");
}

/** Where a person logs out at the issuer as well. */
export function issuersLogout(login: Login): string | null {
  if (!login.endSessionEndpoint) return null;
  const address = new URL(login.endSessionEndpoint);
  address.searchParams.set("client_id", login.clientId);
  return address.href;
}
