// Halts: to stop a release at once, to see which are stopped and by whom, and to undo that, which takes two people.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { at, change, param } from "../address";
import { useAnswer } from "../api/answer";
import { ApiError, post } from "../api/client";
import { touch } from "../api/live";
import { Answered, Code, Mark, Section, Time } from "../components/basics";
import { Dialog } from "../components/dialog";
import { Table, type Column } from "../components/table";
import { askForToken } from "../components/token";
import { may as mayDo, session } from "../session";

interface Sign {
  by: string;
  at: string;
}

/** A halt as the graph has it: from the store, or from a file of graph data. */
export interface ServedHalt {
  release: string;
  origin: string;
  halt: Sign & { scope: HaltScope; /** The reason, and what was observed. */ text: string };
}

export interface HaltScope {
  from?: string;
  platform?: string;
  arch?: string;
}

/** Whom a halt or an answer of the watch is about. */
export function scopeName({ from, platform, arch }: HaltScope): string {
  const parts = [from && `from ${from}`, platform && `on ${platform}`, arch && `with ${arch}`].filter(Boolean);
  return parts.length === 0 ? "all" : parts.join(" ");
}

interface Halt extends Sign {
  id: number;
  release: string;
  path: string;
  why: string;
  standing: boolean;
  firstUndo: Sign | null;
  undone: Sign | null;
}

interface Act {
  act: string;
  text: string;
}

/** How an act of a person goes: nothing yet, under way, done with what the service says, or refused. */
interface ActState {
  doing?: boolean;
  done?: Act;
  error?: string;
}

/**
 * The halts that stand, with their evidence, and who wants which of them undone. Nothing where there are none. Those of the store
 * are undone here, and not for another time; those of graph data by whoever removes their file.
 */
export function StandingHalts({ served }: { served: readonly ServedHalt[] }): JSX.Element | null {
  const answer = useAnswer<{ halts: Halt[] }>(session.value?.hasFleet && !at.value ? "/api/v1/rollouts/halts" : null);
  const standing = answer.data?.halts.filter((halt) => halt.standing) ?? [];
  const whom = (scope: HaltScope | undefined) => (scope && Object.keys(scope).length > 0 ? scopeName(scope) : "everybody");
  const isStored = (one: ServedHalt) => standing.some((halt) => one.release === halt.release && one.origin.includes(halt.path));
  const evidenceOf = (halt: Halt) => served.find((one) => one.release === halt.release && one.origin.includes(halt.path))?.halt;
  const declared = served.filter((one) => !isStored(one));
  const chosen = answer.data?.halts.find((halt) => String(halt.id) === param("undo"));
  return (
    <>
      {standing.length + declared.length > 0 && (
        <Section title="Halted">
          <ul class="halts" aria-label="Releases that are halted">
            {standing.map((halt) => (
              <li key={halt.id} class="note note-blocked">
                <p class="row"><Mark kind="blocked">halted</Mark> <strong>{halt.release}</strong> <span class="muted">for {whom(evidenceOf(halt)?.scope)}, by {halt.by}, <Time at={halt.at} exactly /></span></p>
                <p>{evidenceOf(halt)?.text ?? halt.why}</p>
                {halt.firstUndo && <p class="small-text">{halt.firstUndo.by} wants it undone. Somebody else has to as well.</p>}
                <div class="buttons"><button type="button" class="small" onClick={() => change({ undo: String(halt.id) })}>Undo the halt of {halt.release}…</button></div>
              </li>
            ))}
            {declared.map(({ release, origin, halt }) => (
              <li key={origin} class="note note-blocked">
                <p class="row"><Mark kind="blocked">halted</Mark> <strong>{release}</strong> <span class="muted">for {whom(halt.scope)}, by {halt.by}, <Time at={halt.at} exactly /></span></p>
                <p>{halt.text}</p>
                <p class="small-text">It stands in <code>{origin}</code>. Whoever removes that file undoes it.</p>
              </li>
            ))}
          </ul>
        </Section>
      )}
      {chosen && <UndoDialog key={chosen.id} halt={chosen} />}
    </>
  );
}

/** The first person is noted, the second one undoes. */
function UndoDialog({ halt }: { halt: Halt }): JSX.Element {
  const [state, setState] = useState<ActState>({});
  const may = mayDo("undoHalt");
  const close = () => change({ undo: null });
  const submit = (event: Event) => {
    event.preventDefault();
    if (may && !state.doing) void act(`/api/v1/rollouts/halts/${halt.id}/undo`, {}, setState);
  };
  return (
    <Dialog title={`Undo the halt of ${halt.release}`} onClose={close}>
      <form class="act-form" onSubmit={submit}>
        <p>{halt.release} was halted by {halt.by}, <Time at={halt.at} exactly />: {halt.why}</p>
        <p>It takes two people with different names, each a release administrator or a second signer. Then {halt.release} is offered again at once to everybody whom its windows have reached.</p>
        {halt.firstUndo && <p class="note">{halt.firstUndo.by} is the first who wants it undone.</p>}
        {!may && <NotAllowed who="a release administrator or a second signer" />}
        <Outcome state={state} />
        <Code text={`towpath rollouts resume ${halt.release} --server ${location.origin} --token-file TOKEN`} label="The command that does the same" />
        <div class="buttons">
          <button type="submit" class="primary" disabled={!may || state.doing || state.done !== undefined}>Undo it</button>
          <button type="button" onClick={close}>{state.done ? "Close" : "Cancel"}</button>
        </div>
      </form>
    </Dialog>
  );
}

/** A halt that every replica serves within a second. Undoing it takes two people. */
export function HaltAtOnce({ release }: { release: string }): JSX.Element | null {
  const [why, setWhy] = useState("");
  const [state, setState] = useState<ActState>({});
  if (!session.value?.hasFleet) return null;
  const may = mayDo("halt");
  const submit = (event: Event) => {
    event.preventDefault();
    if (why.trim() && may && !state.doing) void act("/api/v1/rollouts/halt", { release, why: why.trim() }, setState);
  };
  return (
    <form class="act-form" aria-label="Halt at once" onSubmit={submit}>
      <h3>Halt it at once</h3>
      <p>Every replica stops offering {release} to every cluster, within a second. Clusters that have begun the update go on. Two people of different names have to undo it.</p>
      {!may && <NotAllowed who="a release administrator" />}
      <label class="field wide"><span>Reason, for clusters and for whoever asks later</span><input name="why" value={why} onInput={(event) => setWhy(event.currentTarget.value)} required maxLength={160} autoComplete="off" placeholder="INC-123: …" /></label>
      <Outcome state={state} />
      <div class="buttons"><button type="submit" class="primary" disabled={!why.trim() || !may || state.doing || state.done !== undefined}>Halt {release} now</button></div>
    </form>
  );
}

function NotAllowed({ who }: { who: string }): JSX.Element {
  return (
    <p class="note note-conditional">
      Only {who} may do this. <button type="button" class="text" onClick={askForToken}>Enter another token</button>
    </p>
  );
}

function Outcome({ state }: { state: ActState }): JSX.Element {
  return (
    <>
      {state.error && <p class="note note-failing" role="alert">It was refused, and nothing has changed: {state.error}</p>}
      {state.done && <p class="note note-conditional" role="status">{state.done.text}</p>}
    </>
  );
}

async function act(address: string, body: unknown, tell: (state: ActState) => void): Promise<void> {
  tell({ doing: true });
  try {
    tell({ done: await post<Act>(address, body) });
    touch("graph", "fleet");
  } catch (error) {
    tell({ error: error instanceof ApiError ? error.message : "the answer cannot be read" });
  }
}

/** Every halt that the store keeps, newest first: who halted, why, and which two people undid it. For the log. */
export function HaltLog(): JSX.Element {
  const answer = useAnswer<{ halts: Halt[] }>("/api/v1/rollouts/halts");
  return (
    <Answered answer={answer} what="what people halted">
      {({ halts }) => (
        <Table
          caption="Releases that people halted, and who undid that"
          columns={LOGGED}
          rows={[...halts].sort((a, b) => b.id - a.id)}
          rowKey={(halt) => halt.id}
          empty={<p>Nobody has halted a release.</p>}
        />
      )}
    </Answered>
  );
}

const LOGGED: Column<Halt>[] = [
  { key: "at", title: "When", cell: (halt) => <Time at={halt.at} exactly /> },
  { key: "release", title: "Halted", head: true, cell: (halt) => <Mark kind={halt.standing ? "blocked" : "quiet"}>{halt.release}</Mark> },
  { key: "by", title: "By", cell: (halt) => halt.by },
  { key: "why", title: "Why", cell: (halt) => halt.why },
  { key: "first", title: "First to undo it", cell: (halt) => <Signed sign={halt.firstUndo} /> },
  { key: "undone", title: "Undone", cell: (halt) => <Signed sign={halt.undone} /> },
];

function Signed({ sign }: { sign: Sign | null }): JSX.Element {
  return sign ? <><Time at={sign.at} exactly /> by {sign.by}</> : <span class="muted">–</span>;
}
