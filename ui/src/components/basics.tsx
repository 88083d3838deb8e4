// Small pieces that every screen uses: times, marks of an answer, bars, copying, states without an answer.

import type { ComponentChildren, JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { duration, exact, percent, realNow, relative, shownNow } from "../clock";
import type { ApiError } from "../api/client";
import type { Answer } from "../api/answer";
import { callerIsKnown, session } from "../session";
import { askForToken } from "./token";

/** An instant: relative to the time that is shown, with the exact one on hover. `exactly` writes both. */
export function Time({ at, exactly, real }: { at: string | number | null | undefined; exactly?: boolean; real?: boolean }): JSX.Element {
  if (at === null || at === undefined || at === "") return <span class="muted">–</span>;
  const instant = typeof at === "number" ? at : Date.parse(at);
  const now = real ? realNow.value : shownNow.value;
  const precise = exact(instant, true);
  return (
    <time dateTime={new Date(instant).toISOString()} title={precise}>
      {exactly ? <>{exact(instant)} <span class="muted">({relative(instant, now)})</span></> : relative(instant, now)}
    </time>
  );
}

export function Duration({ seconds }: { seconds: number }): JSX.Element {
  return <span class="number">{duration(seconds)}</span>;
}

/** The kinds that have a colour and a shape of their own. Everything else is drawn quietly. */
export type Tone = "offered" | "conditional" | "phasing" | "blocked" | "failing" | "quiet";

const TONES: Record<string, Tone> = {
  offered: "offered",
  yes: "offered",
  conditional: "conditional",
  unless: "conditional",
  phasing: "phasing",
  wait: "phasing",
  blocked: "blocked",
  notForPlatform: "blocked",
  no: "blocked",
  failing: "failing",
  failed: "failing",
  error: "failing",
  warning: "conditional",
};

/** The colour and shape in which a kind, an answer or a severity is drawn. */
export const tone = (word: string): Tone => TONES[word] ?? "quiet";

const SHAPES: Record<Tone, JSX.Element> = {
  offered: <path d="M2 6h8" stroke-width="2.6" />,
  conditional: <path d="M6 1.8l4.6 8.4H1.4zM6 5.2v2" stroke-width="1.5" />,
  phasing: <path d="M1.5 9.5h2v-2h2.4v-2h2.4v-2h2.2" stroke-width="1.9" />,
  blocked: <path d="M2.5 2.5l7 7M9.5 2.5l-7 7" stroke-width="2.2" />,
  failing: <path d="M6 1.5v5.4M6 9.6v.9" stroke-width="2.6" />,
  quiet: <circle cx="6" cy="6" r="2.2" stroke-width="1.6" />,
};

/** The shape of a tone, to stand beside its word. */
export function Shape({ tone: which }: { tone: Tone }): JSX.Element {
  return (
    <svg class={`shape tone-${which}`} viewBox="0 0 12 12" width="12" height="12" aria-hidden="true" fill="none" stroke="currentColor" stroke-linecap="round" stroke-linejoin="round">
      {SHAPES[which]}
    </svg>
  );
}

/** A word with the colour and the shape of its kind. */
export function Mark({ kind, children }: { kind: string; children?: ComponentChildren }): JSX.Element {
  const which = tone(kind);
  return (
    <span class={`mark tone-${which}`}>
      <Shape tone={which} />
      {children ?? kind}
    </span>
  );
}

/** A share from 0 to 1 as a bar, with its words beside it. */
export function Bar({ share, label, kind = "phasing", children }: { share: number; label: string; kind?: string; children?: ComponentChildren }): JSX.Element {
  const width = Math.max(0, Math.min(1, share)) * 100;
  return (
    <span class="bar-row">
      <svg class={`bar tone-${tone(kind)}`} role="img" aria-label={`${label}: ${percent(share)}`} viewBox="0 0 100 8" preserveAspectRatio="none">
        <rect class="bar-ground" width="100" height="8" />
        <rect class="bar-fill" width={width} height="8" />
      </svg>
      <span class="number">{children ?? percent(share)}</span>
    </span>
  );
}

/** A button that copies a text, and says that it did. */
export function Copy({ text, label = "Copy" }: { text: string; label?: string }): JSX.Element {
  const [said, say] = useState("");
  const copy = async () => {
    say((await copied(text)) ? "Copied" : "Select the text and copy it yourself");
    setTimeout(() => say(""), 2500);
  };
  return (
    <button type="button" class="small" onClick={() => void copy()}>
      <span aria-live="polite">{said || label}</span>
    </button>
  );
}

/** The clipboard needs https or loopback; the older way works elsewhere. */
async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "off-screen";
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

/** Commands or a file, as they are typed, with a button that copies them. */
export function Code({ text, label, copy = "Copy" }: { text: string; label: string; copy?: string }): JSX.Element {
  return (
    <div class="code">
      <pre tabIndex={0} role="group" aria-label={label}>
        <code>{text}</code>
      </pre>
      <Copy text={text} label={copy} />
    </div>
  );
}

/** A change as a unified diff: a sign and a colour for each line. */
export function Diff({ text, label }: { text: string; label: string }): JSX.Element {
  const kind = (line: string) => (/^(\+\+\+|---) /.test(line) ? "diff-file" : line.startsWith("+") ? "diff-added" : line.startsWith("-") ? "diff-removed" : line.startsWith("@@") ? "diff-place" : "");
  return (
    <div class="code">
      <pre tabIndex={0} role="group" aria-label={label}>
        <code>
          {text.replace(/\n$/, "").split("\n").map((line, index) => (
            <span key={index} class={`diff-line ${kind(line)}`}>{line + "\n"}</span>
          ))}
        </code>
      </pre>
      <Copy text={text} label="Copy diff" />
    </div>
  );
}

/** A link that leaves the page. Only http and https; everything else is shown as text. */
export function Outward({ href, children }: { href: string; children?: ComponentChildren }): JSX.Element {
  const safe = /^https?:\/\//i.test(href);
  if (!safe) return <span>{children ?? href}</span>;
  return <a href={href} target="_blank" rel="noreferrer noopener">{children ?? href}</a>;
}

/** A headed part of a screen. */
export function Section({ title, aside, children, id }: { title: ComponentChildren; aside?: ComponentChildren; children: ComponentChildren; id?: string }): JSX.Element {
  const made = useId();
  const heading = `${id ?? made}-heading`;
  return (
    <section class="section" aria-labelledby={heading} id={id}>
      <header class="section-head">
        <h2 id={heading}>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

/** Nothing is there, and that is in order: what would stand here, and how to get it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="state">
      <p class="state-title">{title}</p>
      {children}
    </div>
  );
}

/** The first answer is awaited. It is said only after a moment, so that quick answers do not flicker. */
export function Loading({ what }: { what: string }): JSX.Element {
  return (
    <div class="state state-loading" role="status">
      <p>Loading {what} …</p>
    </div>
  );
}

/** There is no answer, why, and what helps. */
export function Failing({ error, what }: { error: ApiError; what: string }): JSX.Element {
  const mayNot = error.status === 401 || error.status === 403;
  // Who sits here decides what helps.
  if (mayNot && !callerIsKnown.value) return <Loading what={what} />;
  return (
    <div class="state state-failing" role="alert">
      <p class="state-title">
        <Shape tone={mayNot ? "quiet" : "failing"} /> {mayNot ? `Reading ${what} needs a token` : `There is no answer about ${what}`}
      </p>
      <p>{error.message} <span class="muted">({error.kind})</span></p>
      {mayNot && <button type="button" onClick={askForToken}>{session.value?.login ? "Log in" : "Enter a token"}</button>}
    </div>
  );
}

/** One of: loading, failing, or what is made of the answer, marked while it is an older one. */
export function Answered<T>({ answer, what, children }: { answer: Answer<T>; what: string; children: (data: T) => ComponentChildren }): JSX.Element {
  if (answer.data === undefined) {
    if (answer.error) return <Failing error={answer.error} what={what} />;
    return <Loading what={what} />;
  }
  return (
    <div class={answer.stale ? "answered stale" : "answered"} aria-busy={answer.stale && !answer.error ? "true" : undefined}>
      {answer.error && (
        <p class="note note-failing" role="status">
          <Shape tone="failing" /> This is the answer of <Time at={answer.receivedAt} real />. The newest request failed: {answer.error.message}
        </p>
      )}
      {children(answer.data)}
    </div>
  );
}
