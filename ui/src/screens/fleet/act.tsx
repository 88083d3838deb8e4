// Acts of people: pause, resume, approve, acknowledge, withdraw, cancel, preflight. Each goes through the same API, with the same
// check, as from everywhere else. Before it: whom it concerns, what it does, the command that does the same. The service takes the
// name from the token; the reason is asked for.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { change, here, param } from "../../address";
import { useAnswer } from "../../api/answer";
import { ApiError, post, url } from "../../api/client";
import type { Clusters } from "../../api/fleet";
import { touch } from "../../api/live";
import { count } from "../../clock";
import { Code, Mark } from "../../components/basics";
import { Dialog } from "../../components/dialog";
import { askForToken } from "../../components/token";
import { callerWords, may as mayDo } from "../../session";

type FieldName = "organisation" | "sector" | "workload" | "cluster" | "version" | "gate";
type Values = Partial<Record<FieldName | "why", string>>;

interface Kind {
  act: string;
  title: string;
  /** On the button that does it. */
  verb: string;
  fields: readonly FieldName[];
  needs: readonly FieldName[];
  /** What it does, in a sentence; `whom` is "3 clusters". */
  effect: (whom: string, values: Values) => string;
  /** The permission that it takes, if that has another name. */
  permission?: string;
  /** Whether the service keeps a reason for it. */
  keepsWhy: boolean;
  /** What the API is asked besides the fields; its path, if that has another name. */
  more?: Record<string, string>;
  path?: string;
  command: (values: Values) => string[];
}

const KINDS: readonly Kind[] = [
  {
    act: "pause",
    title: "Pause",
    verb: "Pause",
    fields: ["organisation", "sector"],
    needs: [],
    effect: (whom) => `No new upgrade starts on ${whom}. Planned upgrades are cancelled; running ones continue.`,
    keepsWhy: true,
    command: (v) => ["pause", ...flag("org", v.organisation), ...flag("sector", v.sector), ...flag("why", v.why)],
  },
  {
    act: "resume",
    title: "Resume",
    verb: "Resume",
    fields: ["organisation", "sector"],
    needs: [],
    effect: (whom, v) => `Ends ${place(v)}; pauses of other places stay. Upgrades may start again on ${whom} at the next pass.`,
    keepsWhy: true,
    command: (v) => ["resume", ...flag("org", v.organisation), ...flag("sector", v.sector), ...flag("why", v.why)],
  },
  {
    act: "approve",
    title: "Approve a version",
    verb: "Approve",
    fields: ["organisation", "cluster", "version"],
    needs: ["organisation", "version"],
    effect: (whom, v) => `${v.version || "The version"} counts as approved on ${whom}. All other rules still hold.`,
    keepsWhy: true,
    command: (v) => ["approve", word(v.version || "VERSION"), ...flag("org", v.organisation), ...flag("cluster", v.cluster), ...flag("why", v.why)],
  },
  {
    act: "acknowledge",
    title: "Acknowledge a gate",
    verb: "Acknowledge",
    fields: ["cluster", "gate"],
    needs: ["cluster", "gate"],
    effect: (whom, v) => `The gate ${v.gate || ""} counts as acknowledged for ${whom}.`,
    keepsWhy: true,
    command: (v) => ["acknowledge", word(v.gate || "GATE"), ...flag("cluster", v.cluster), ...flag("why", v.why)],
  },
  {
    act: "withdraw-approval",
    title: "Withdraw an approval",
    verb: "Withdraw",
    permission: "withdraw",
    fields: ["organisation", "cluster", "version"],
    needs: ["organisation", "version"],
    effect: (whom, v) => `${v.version || "The version"} no longer counts as approved on ${whom}, unless another approval says so. Upgrades that have not begun are cancelled; running ones continue.`,
    keepsWhy: true,
    path: "withdraw",
    more: { act: "approval" },
    command: (v) => ["withdraw", "approval", word(v.version || "VERSION"), ...flag("org", v.organisation), ...flag("cluster", v.cluster), ...flag("why", v.why)],
  },
  {
    act: "withdraw-acknowledgement",
    title: "Withdraw an acknowledgement",
    verb: "Withdraw",
    permission: "withdraw",
    fields: ["cluster", "gate"],
    needs: ["cluster", "gate"],
    effect: (whom, v) => `The gate ${v.gate || ""} holds ${whom} again. Upgrades that have not begun are cancelled; running ones continue.`,
    keepsWhy: true,
    path: "withdraw",
    more: { act: "acknowledgement" },
    command: (v) => ["withdraw", "acknowledgement", word(v.gate || "GATE"), ...flag("cluster", v.cluster), ...flag("why", v.why)],
  },
  {
    act: "cancel",
    title: "Cancel an upgrade",
    verb: "Cancel the upgrade",
    fields: ["cluster"],
    needs: ["cluster"],
    effect: (whom) => `The planned upgrade of ${whom} does not start, and is not planned again until somebody lifts that. One that is under way is not stopped.`,
    keepsWhy: true,
    command: (v) => ["cancel", word(v.cluster || "CLUSTER"), ...flag("why", v.why)],
  },
  {
    act: "lift",
    title: "Lift a cancellation",
    verb: "Lift it",
    permission: "resume",
    fields: ["cluster", "version"],
    needs: ["cluster"],
    effect: (whom, v) => `${v.version || "What was cancelled"} may be planned for ${whom} again, at the next pass.`,
    keepsWhy: true,
    path: "resume",
    command: (v) => ["resume", ...flag("cluster", v.cluster), ...flag("to", v.version), ...flag("why", v.why)],
  },
  {
    act: "preflight",
    title: "Ask for a preflight",
    verb: "Ask for it",
    fields: ["version", "organisation", "sector", "workload", "cluster"],
    needs: ["version"],
    effect: (whom, v) => `Those of ${whom} that are offered ${v.version || "the version"} run its checks, at most ten at once. Nothing is updated.`,
    keepsWhy: false,
    command: (v) => ["preflight", word(v.version || "VERSION"), ...flag("org", v.organisation), ...flag("sector", v.sector), ...flag("workload", v.workload), ...flag("cluster", v.cluster)],
  },
];

const LABELS: Record<FieldName, string> = {
  organisation: "Organisation",
  sector: "Sector",
  workload: "Workload",
  cluster: "Cluster, by name or id",
  version: "Version",
  gate: "Gate",
};

const place = (v: Values): string => {
  if (v.sector) return `the pause of sector ${v.sector}${v.organisation ? ` in organisation ${v.organisation}` : ""}`;
  return v.organisation ? `the pause of organisation ${v.organisation}` : "the pause of everything";
};

/** A word of a command line, as a shell takes it. */
const word = (text: string): string => (/^[\w.,:/@%+=-]+$/.test(text) ? text : `'${text.replace(/'/g, `'\\''`)}'`);
const flag = (name: string, value?: string): string[] => (value ? [`--${name}`, word(value)] : []);

/** Buttons for the acts about the part of the fleet that is looked at, and the dialog of the one that is chosen. */
export function ActButtons({ preset, acts = ["pause", "resume", "approve", "acknowledge", "cancel", "preflight"] }: { preset?: Values; acts?: readonly string[] }): JSX.Element {
  // What takes something back has its button beside that; its dialog is the same.
  const chosen = KINDS.find((kind) => kind.act === param("act"));
  return (
    <div class="row act-buttons">
      {KINDS.filter((kind) => acts.includes(kind.act)).map((kind) => (
        <button key={kind.act} type="button" class="small" onClick={() => change({ act: kind.act })}>{kind.title}…</button>
      ))}
      {chosen && <ActDialog key={[chosen.act, ...chosen.fields.map((name) => param(`act-${name}`))].join(" ")} kind={chosen} preset={preset ?? { organisation: param("org"), sector: param("sector"), workload: param("workload") }} />}
    </div>
  );
}

/** A link that opens an act, with its fields chosen. */
export const actLink = (act: string, fields: Partial<Record<FieldName, string | null>> = {}): string =>
  here({ act, ...Object.fromEntries(Object.entries(fields).map(([name, value]) => [`act-${name}`, value ?? ""])) });

function ActDialog({ kind, preset }: { kind: Kind; preset: Values }): JSX.Element {
  const [values, setValues] = useState<Values>(() => ({
    // What is taken back is exactly what was given: an approval of a whole organisation is not the one of this cluster.
    ...Object.fromEntries(kind.fields.map((name) => [name, param(`act-${name}`) || (kind.path === "withdraw" ? "" : preset[name]) || ""])),
    why: "",
  }));
  const [state, setState] = useState<{ doing?: boolean; done?: unknown; error?: string }>({});
  const set = (name: keyof Values) => (event: Event) => setValues((was) => ({ ...was, [name]: (event.currentTarget as HTMLInputElement).value }));
  const close = () => change({ act: "", ...Object.fromEntries(kind.fields.map((name) => [`act-${name}`, ""])) });
  const missing = [...kind.needs, ...(kind.keepsWhy ? (["why"] as const) : [])].filter((name) => !values[name]?.trim());
  const may = mayDo(kind.permission ?? kind.act);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (missing.length > 0 || !may || state.doing) return;
    setState({ doing: true });
    try {
      setState({ done: await post(`/api/v1/fleet/${kind.path ?? kind.act}`, bodyOf(kind, values)) });
      touch("act", "fleet");
    } catch (error) {
      setState({ error: error instanceof ApiError ? error.message : "the answer cannot be read" });
    }
  };
  if (state.done !== undefined) return <Done kind={kind} answer={state.done} onClose={close} />;
  return (
    <Dialog title={kind.title} onClose={close}>
      {!may && <NotAllowed />}
      <form class="act-form" onSubmit={(event) => void submit(event)}>
        {kind.fields.map((name, index) => (
          <label key={name} class="field wide">
            <span>{LABELS[name]}{!kind.needs.includes(name) && " (empty: all)"}</span>
            <input name={`act-${name}`} value={values[name]} onInput={set(name)} autoComplete="off" spellcheck={false} required={kind.needs.includes(name)} autofocus={index === 0} />
          </label>
        ))}
        {may && <p class="note">It is recorded with your name, <b>{callerWords()}</b>: that of your token.</p>}
        {kind.keepsWhy && (
          <label class="field wide"><span>Reason, for whoever asks later</span><input name="why" value={values.why} onInput={set("why")} required maxLength={160} autoComplete="off" placeholder="INC-123: …" /></label>
        )}
        <Before kind={kind} values={values} />
        {state.error && <p class="note note-failing" role="alert">It was refused, and nothing has changed: {state.error}</p>}
        <div class="buttons">
          <button type="submit" class="primary" disabled={missing.length > 0 || !may || state.doing}>{kind.verb}</button>
          <button type="button" onClick={close}>Cancel</button>
        </div>
      </form>
    </Dialog>
  );
}

function NotAllowed(): JSX.Element {
  return (
    <p class="note note-conditional">
      Only an operator may act. You can look at what it would do. <button type="button" class="text" onClick={askForToken}>Enter an operator's token</button>{" "}
      A service without <code>--people-keys</code> takes no acts over HTTP; the command below works where its store is.
    </p>
  );
}

/** What it will do, before it does it. */
function Before({ kind, values }: { kind: Kind; values: Values }): JSX.Element {
  const has = (name: FieldName) => (kind.fields.includes(name) ? values[name]?.trim() : "");
  const query = { org: has("organisation"), sector: has("sector"), workload: has("workload"), cluster: has("cluster"), limit: 1 };
  const answer = useAnswer<Clusters>(url("/api/v1/fleet/clusters", query), { topic: "fleet" });
  const n = answer.data?.matching;
  const everywhere = !(query.org || query.sector || query.workload || query.cluster);
  const whom = n === undefined || answer.error ? "these clusters" : n === 1 ? `the cluster ${answer.data!.clusters[0]?.name ?? ""}`.trim() : everywhere ? `the whole fleet, ${count(n)} clusters` : `${count(n)} clusters`;
  return (
    <div class="before" role="status" aria-label="What it will do">
      {answer.error && !answer.data ? (
        <p><Mark kind="warning">nobody is concerned</Mark> {answer.error.message}</p>
      ) : (
        <p><b>What it will do:</b> {kind.effect(whom, values)}</p>
      )}
      <Code text={["towpath fleet", ...kind.command(values), "--server", location.origin].join(" ")} label="The command that does the same" />
    </div>
  );
}

function bodyOf(kind: Kind, values: Values): Record<string, string> {
  const body: Record<string, string> = { ...kind.more };
  for (const name of kind.fields) {
    const value = values[name]?.trim();
    if (value) body[name] = value;
  }
  return kind.keepsWhy ? { ...body, why: values.why?.trim() ?? "" } : body;
}

function Done({ kind, answer, onClose }: { kind: Kind; answer: unknown; onClose: () => void }): JSX.Element {
  return (
    <Dialog title={kind.title} onClose={onClose}>
      <p role="status"><Mark kind="offered">done</Mark> The service has recorded it. The next pass goes by it.</p>
      {answer !== null && <Code text={JSON.stringify(answer, null, 2)} label="The service's answer" />}
      <div class="buttons"><button type="button" class="primary" autofocus onClick={onClose}>Close</button></div>
    </Dialog>
  );
}
