// Acts of people: pause, resume, approve, acknowledge, preflight. Each goes through the same API, with the same check, as from
// everywhere else. Before it: whom it concerns, what it does, the command that does the same. It asks for a name and a reason
// where the service keeps them, and says so where it does not.

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
import { may as mayDo } from "../../session";

type FieldName = "organisation" | "sector" | "workload" | "cluster" | "version" | "gate";
type Values = Partial<Record<FieldName | "by" | "why", string>>;

interface Kind {
  act: string;
  title: string;
  /** On the button that does it. */
  verb: string;
  fields: readonly FieldName[];
  needs: readonly FieldName[];
  /** What it does, in a sentence; `whom` is "3 clusters". */
  effect: (whom: string, values: Values) => string;
  /** Whether the API keeps a reason of its own for it. Otherwise the reason stands behind the name. */
  keeps: "by and why" | "by" | "nothing";
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
    keeps: "by and why",
    command: (v) => ["pause", ...flag("org", v.organisation), ...flag("sector", v.sector), ...flag("why", v.why)],
  },
  {
    act: "resume",
    title: "Resume",
    verb: "Resume",
    fields: ["organisation", "sector"],
    needs: [],
    effect: (whom, v) => `Ends ${place(v)}; pauses of other places stay. Upgrades may start again on ${whom} at the next pass.`,
    keeps: "nothing",
    command: (v) => ["resume", ...flag("org", v.organisation), ...flag("sector", v.sector)],
  },
  {
    act: "approve",
    title: "Approve a version",
    verb: "Approve",
    fields: ["organisation", "cluster", "version"],
    needs: ["organisation", "version"],
    effect: (whom, v) => `${v.version || "The version"} counts as approved on ${whom}. All other rules still hold.`,
    keeps: "by",
    command: (v) => ["approve", word(v.version || "VERSION"), ...flag("org", v.organisation), ...flag("cluster", v.cluster)],
  },
  {
    act: "acknowledge",
    title: "Acknowledge a gate",
    verb: "Acknowledge",
    fields: ["cluster", "gate"],
    needs: ["cluster", "gate"],
    effect: (whom, v) => `The gate ${v.gate || ""} counts as acknowledged for ${whom}.`,
    keeps: "by",
    command: (v) => ["acknowledge", word(v.gate || "GATE"), ...flag("cluster", v.cluster)],
  },
  {
    act: "preflight",
    title: "Ask for a preflight",
    verb: "Ask for it",
    fields: ["version", "organisation", "sector", "workload", "cluster"],
    needs: ["version"],
    effect: (whom, v) => `Those of ${whom} that are offered ${v.version || "the version"} run its checks, at most ten at once. Nothing is updated.`,
    keeps: "by",
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
export function ActButtons({ preset, acts = ["pause", "resume", "approve", "acknowledge", "preflight"] }: { preset?: Values; acts?: readonly string[] }): JSX.Element {
  const chosen = KINDS.find((kind) => kind.act === param("act") && acts.includes(kind.act));
  return (
    <div class="row act-buttons">
      {KINDS.filter((kind) => acts.includes(kind.act)).map((kind) => (
        <button key={kind.act} type="button" class="small" onClick={() => change({ act: kind.act })}>{kind.title}…</button>
      ))}
      {chosen && <ActDialog kind={chosen} preset={preset ?? { organisation: param("org"), sector: param("sector"), workload: param("workload") }} />}
    </div>
  );
}

/** A link that opens an act, with its fields chosen. */
export const actLink = (act: string): string => here({ act });

const NAME = "towpath-name";

function ActDialog({ kind, preset }: { kind: Kind; preset: Values }): JSX.Element {
  const [values, setValues] = useState<Values>(() => ({
    ...Object.fromEntries(kind.fields.map((name) => [name, param(`act-${name}`) || preset[name] || ""])),
    by: sessionStorage.getItem(NAME) ?? "",
    why: "",
  }));
  const [state, setState] = useState<{ doing?: boolean; done?: unknown; error?: string }>({});
  const set = (name: keyof Values) => (event: Event) => setValues((was) => ({ ...was, [name]: (event.currentTarget as HTMLInputElement).value }));
  const close = () => change({ act: "", ...Object.fromEntries(kind.fields.map((name) => [`act-${name}`, ""])) });
  const isSigned = kind.keeps !== "nothing";
  const missing = [...kind.needs, ...(isSigned ? (["by", "why"] as const) : [])].filter((name) => !values[name]?.trim());
  const may = mayDo(kind.act);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (missing.length > 0 || !may || state.doing) return;
    setState({ doing: true });
    if (isSigned) sessionStorage.setItem(NAME, values.by!.trim());
    try {
      setState({ done: await post(`/api/v1/fleet/${kind.act}`, bodyOf(kind, values)) });
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
        {isSigned ? (
          <>
            <label class="field wide"><span>Your name</span><input name="by" value={values.by} onInput={set("by")} required maxLength={80} autoComplete="name" /></label>
            <label class="field wide"><span>Reason, for whoever asks later</span><input name="why" value={values.why} onInput={set("why")} required maxLength={160} autoComplete="off" placeholder="INC-123: …" /></label>
          </>
        ) : (
          <p class="note">The service does not record who does this, nor why.</p>
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
      <Code text={["towpath fleet", ...kind.command(values), ...flag("by", kind.keeps === "nothing" ? "" : values.by), "--server", location.origin].join(" ")} label="The command that does the same" />
    </div>
  );
}

function bodyOf(kind: Kind, values: Values): Record<string, string> {
  const body: Record<string, string> = {};
  for (const name of kind.fields) {
    const value = values[name]?.trim();
    if (value) body[name] = value;
  }
  const by = values.by?.trim() ?? "";
  const why = values.why?.trim() ?? "";
  if (kind.keeps === "by and why") return { ...body, by, why };
  if (kind.keeps === "by") return { ...body, by: `${by} (${why})` };
  return body;
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
