// Who sits here: a token is typed in once, and kept until the tab is closed.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { token, useToken } from "../api/client";
import { roleWords, session } from "../session";
import { Dialog } from "./dialog";

const open = signal(false);

export function askForToken(): void {
  open.value = true;
}

export function TokenDialog(): JSX.Element | null {
  if (!open.value) return null;
  const close = () => (open.value = false);
  const submit = (event: Event) => {
    event.preventDefault();
    const field = (event.currentTarget as HTMLFormElement).elements.namedItem("token") as HTMLInputElement;
    useToken(field.value.trim());
    close();
  };
  return (
    <Dialog title="Token" onClose={close}>
      <form onSubmit={submit} class="stack">
        <p>
          <code>towpath fleet token</code> makes tokens, each with a name and roles: a viewer looks at the fleet, an operator acts as well. The
          token stays in this tab, and is sent to this service only.
        </p>
        <label class="field">
          <span>Token</span>
          <input name="token" type="password" autoComplete="off" spellcheck={false} defaultValue={token.value} autofocus />
        </label>
        {session.value?.tokenProblem && <p class="note note-failing" role="alert">{session.value.tokenProblem.value}</p>}
        {session.value && <p class="muted">Now: {roleWords()}.</p>}
        <div class="buttons">
          <button type="submit" class="primary">Use it</button>
          {token.value && <button type="button" onClick={() => { useToken(""); close(); }}>Forget it</button>}
          <button type="button" onClick={close}>Cancel</button>
        </div>
      </form>
    </Dialog>
  );
}
