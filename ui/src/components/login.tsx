// Logging in and out: coming back from the issuer, that a login has ended, and what the dialog says of it.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { link } from "../address";
import { token } from "../api/client";
import { finishLogin, issuersLogout, logIn, logOut, returning } from "../login";
import { session } from "../session";
import { Shape, Time } from "./basics";

/** Begins a login, and comes back to what is being looked at. Nothing where nobody can log in. */
export function LogInButton({ again, primary }: { again?: boolean; primary?: boolean }): JSX.Element | null {
  const login = session.value?.login;
  if (!login) return null;
  return (
    <button type="button" class={primary ? "primary" : undefined} onClick={() => void logIn(login)}>
      {again ? "Log in again" : "Log in"}
    </button>
  );
}

/** What stands at the address that the issuer sends the page back to. */
export function LoginScreen(): JSX.Element {
  useEffect(() => void finishLogin(), []);
  const problem = returning.value?.problem ?? null;
  if (problem === null) {
    return (
      <div class="state state-loading" role="status">
        <h1>Logging in</h1>
        <p>The service is getting your token.</p>
      </div>
    );
  }
  return (
    <div class="state state-failing" role="alert">
      <h1><Shape tone="failing" /> You are not logged in</h1>
      <p>{problem}</p>
      <div class="buttons">
        <LogInButton again primary />
        <a href={link("/graph")}>Go on without</a>
      </div>
    </div>
  );
}

/** A login that has ended, with the way back in. What is being looked at stays. */
export function EndedLogin(): JSX.Element | null {
  const now = session.value;
  if (!token.value || !now?.login || !now.tokenProblem) return null;
  return (
    <p class="note note-conditional" role="alert">
      <Shape tone="conditional" /> {now.tokenProblem.kind === "ended_token" ? "Your login has ended." : "Your login is not accepted."}{" "}
      {now.tokenProblem.value}. <LogInButton again />
    </p>
  );
}

/** Who is logged in until when, and the way out. */
export function LoginState({ onDone }: { onDone: () => void }): JSX.Element | null {
  const now = session.value;
  if (!now?.login) return null;
  const who = token.value ? now.identity : null;
  const elsewhere = issuersLogout(now.login);
  if (!who) {
    return (
      <div class="stack">
        <p>Log in as yourself, at your organisation's own login. You come back to what you are looking at.</p>
        <div class="buttons"><LogInButton again={!!token.value} primary /></div>
      </div>
    );
  }
  return (
    <div class="stack">
      <p>
        You are <strong>{who.name}</strong>
        {who.ends && <>, until <Time at={who.ends} exactly real /></>}.
      </p>
      <div class="buttons">
        <button type="button" onClick={() => { logOut(); onDone(); }}>Log out</button>
        {who.source === "oidc" && elsewhere && <a href={elsewhere} onClick={() => logOut()}>Log out there as well</a>}
      </div>
    </div>
  );
}
