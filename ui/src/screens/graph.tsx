// Graph: which updates there are, and why. Select a release, an update, or a path; everything is in the address.

import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { change, here } from "../address";
import { useAnswer } from "../api/answer";
import { url } from "../api/client";
import type { ScreenProps } from "../app";
import { Answered, Empty } from "../components/basics";
import { Choice, Field, Question, Tabs } from "../components/fields";
import { Panel } from "../components/panel";
import { at } from "../address";
import { exact } from "../clock";
import { Kinds, Legend, wordOf } from "../graph/kinds";
import { modelOf, type GraphAnswer, type GraphModel } from "../graph/model";
import { PathPanel, type Paths } from "../graph/path";
import { Picture } from "../graph/picture";
import { graphUrl, isRelease, pathUrl, question } from "../graph/question";
import { EdgeTable, ReleasePanel, ReleaseTable } from "../graph/release";
import { SaveAs } from "../graph/save";
import { Why } from "../graph/why";

interface ChannelsAnswer {
  at: string;
  architectures: string[];
  channels: { name: string; architectures: string[]; releases: number; minors: string[]; newest: string | null }[];
}

/** OpenShift's names, as suggestions. Another may be typed; the API says if it is none. */
const PLATFORMS = ["AWS", "Azure", "BareMetal", "GCP", "IBMCloud", "KubeVirt", "None", "Nutanix", "OpenStack", "PowerVS", "VSphere", "oVirt", "External", "AlibabaCloud", "EquinixMetal"];

export function GraphScreen(_: ScreenProps): JSX.Element {
  const asked = question();
  const channels = useAnswer<ChannelsAnswer>(url("/api/v1/channels", { arch: asked.arch, now: at.value }));
  const names = channels.data?.channels.map((channel) => channel.name) ?? [];
  const first = firstChannel(names);
  useLayoutEffect(() => {
    if (!asked.channel && first) change({ channel: first }, { replace: true });
  }, [asked.channel, first]);
  const architectures = channels.data?.architectures ?? [];
  return (
    <>
      <h1 class="off-screen">Graph</h1>
      <Question label="Which updates">
        <Field name="channel" label="channels, or *" suggestions={names} width="wide" />
        <Field name="from" label="from" placeholder="4.20.3" resets={["hop"]} />
        <Field name="to" label="to" placeholder="4.20.4, 4.21, newest" resets={["hop"]} />
        <Field name="id" label="cluster id" placeholder="any" />
        <Field name="platform" label="platform" placeholder="unknown" suggestions={PLATFORMS} />
        <Choice name="arch" label="architecture" width="short" options={[{ value: "", text: "amd64" }, ...architectures.filter((name) => name !== "amd64").map((name) => ({ value: name, text: name }))]} />
      </Question>
      {asked.channel ? (
        <Shown key={asked.channel === "" ? "none" : "some"} />
      ) : (
        <Answered answer={channels} what="the channels">
          {() => (names.length === 0 ? <Empty title="There are no channels"><p>No release has entered a channel at this time.</p></Empty> : null)}
        </Answered>
      )}
    </>
  );
}

/** What is shown when nobody has said which: the last stable channel, or the last of all. */
function firstChannel(names: readonly string[]): string {
  const stable = names.filter((name) => name.startsWith("stable-"));
  return stable[stable.length - 1] ?? names[names.length - 1] ?? "";
}

type PanelView = "why" | "path";

/** A release that is named whole is asked about directly; anything else can only be the goal of a path. */
function panelOf(asked: { to: string; panel: string }): PanelView {
  if (asked.panel === "path" || asked.panel === "why") return asked.panel;
  return isRelease(asked.to) ? "why" : "path";
}

function Shown(): JSX.Element {
  const asked = question();
  const view = panelOf(asked);
  const hasPath = asked.from !== "" && asked.to !== "" && view === "path";
  const path = useAnswer<Paths>(hasPath ? pathUrl(asked.from, asked.to) : null);
  // A path may lead through other channels: they are drawn with it, so that each hop has both ends.
  const hops = path.data?.paths[0]?.hops ?? path.data?.noPath?.pathToNearest?.hops ?? [];
  const wanted = asked.channel.split(",").filter(Boolean);
  const added = asked.channel === "*" ? [] : [...new Set(hops.map((hop) => hop.channel))].filter((name) => !wanted.includes(name));
  const channels = [...wanted, ...added].join(",");
  const graph = useAnswer<GraphAnswer>(graphUrl(channels));
  return (
    <Answered answer={graph} what={`the graph of ${asked.channel}`}>
      {(data) => (
        <Kinds.Provider value={data.kinds}>
          <GraphView model={modelOf(data)} view={view} path={hasPath ? path : undefined} hops={hops} added={added} />
        </Kinds.Provider>
      )}
    </Answered>
  );
}

interface ViewProps {
  model: GraphModel;
  view: PanelView;
  path: ReturnType<typeof useAnswer<Paths>> | undefined;
  hops: readonly { from: string; to: string }[];
  added: readonly string[];
}

function GraphView({ model, view, path, hops, added }: ViewProps): JSX.Element {
  const asked = question();
  const [search, setSearch] = useState("");
  const selected = model.place(asked.from);
  const target = view === "why" ? model.place(asked.to) : -1;
  const found = useMemo(() => matching(model, search), [model, search]);
  const counts = useMemo(() => model.countByKind(), [model]);
  const onPath = useMemo(() => {
    const places = hops.length === 0 ? [] : [hops[0]!.from, ...hops.map((hop) => hop.to)].map((version) => model.place(version));
    return places.every((place) => place >= 0) ? places : [];
  }, [model, hops]);
  const version = (index: number) => (index < 0 ? null : model.release(index).version);
  const onSelect = (index: number) => change({ from: version(index), to: null, panel: null, hop: null });
  const onTarget = (index: number) => change({ to: version(index), panel: null, hop: null });
  const { data } = model;
  const hasPanel = asked.from !== "";
  return (
    <div class={hasPanel ? "graph with-panel" : "graph"}>
      <div class="graph-main">
        {data.warnings.map((warning) => <p key={warning} class="note note-conditional">{warning}</p>)}
        {added.length > 0 && <p class="muted small-text">With {added.join(", ")}, which the path leads through.</p>}
        <div class="graph-bar">
          <Search value={search} onInput={setSearch} found={found} model={model} onTake={(index) => (onSelect(index), setSearch(""))} />
          <p class="muted small-text">
            {data.releases.length} releases, {data.edges.length} updates, as of {exact(Date.parse(data.at))}
          </p>
        </div>
        <div class="picture-card">
          {data.releases.length === 0 ? (
            <Empty title="Nothing is in this channel">
              <p>No release has entered <code>{asked.channel}</code> for this architecture at this time.</p>
            </Empty>
          ) : (
            <Picture model={model} selected={selected} target={target} found={found} path={onPath} onSelect={onSelect} onTarget={onTarget} describe={(index) => describe(model, index, selected)} label={`Graph of ${data.channels.join(", ")}: ${data.releases.length} releases in ${data.lanes.length} lanes`} />
          )}
        </div>
        <Legend kinds={data.kinds} counts={counts} />
        {path && path.data?.found ? (
          <SaveAs what="this path" name={`path-${asked.from}-${asked.to}`} address={(format) => pathUrl(asked.from, asked.to, format)} />
        ) : (
          <SaveAs what="this graph" name={`graph-${asked.channel === "*" ? "all" : asked.channel}`} address={(format) => graphUrl(asked.channel, format)} />
        )}
      </div>
      {hasPanel && <GraphPanel model={model} selected={selected} view={view} path={path} />}
      <div class="graph-table">
        <h2>{selected >= 0 ? `Updates from and to ${asked.from}` : "Releases"}</h2>
        {selected >= 0 ? <EdgeTable model={model} selected={selected} target={target} /> : <ReleaseTable model={model} found={found} />}
      </div>
    </div>
  );
}

function GraphPanel({ model, selected, view, path }: Pick<ViewProps, "model" | "view" | "path"> & { selected: number }): JSX.Element {
  const { from, to } = question();
  const close = () => change({ from: null, to: null, panel: null, hop: null });
  if (!to) {
    return (
      <Panel title={from} onClose={close}>
        {selected >= 0 ? <ReleasePanel model={model} release={selected} /> : <NotShown version={from} channel={model.data.channels[0] ?? ""} />}
      </Panel>
    );
  }
  return (
    <Panel title={`${from} → ${to}`} onClose={() => change({ to: null, panel: null, hop: null })}>
      <Tabs
        label="Why, or how to get there"
        tabs={[
          { href: here({ panel: isRelease(to) ? null : "why", hop: null }), text: "Why", current: view === "why" },
          { href: here({ panel: isRelease(to) ? "path" : null, hop: null }), text: "Path", current: view === "path" },
        ]}
      />
      {view === "path" ? <PathPanel from={from} to={to} answer={path!} /> : <WhyIn model={model} />}
    </Panel>
  );
}

/** Why, in the channel that the graph's answer is of; a missing update is asked for in the first one that is shown. */
function WhyIn({ model }: { model: GraphModel }): JSX.Element {
  const { from, to } = question();
  if (!isRelease(to)) return <p>Why is asked of one update: type a release, such as 4.20.4. The <a href={here({ panel: null })}>path</a> leads to {to}.</p>;
  const edge = model.between(model.place(from), model.place(to));
  const channel = edge?.answer.channel ?? model.data.channels[model.data.channels.length - 1] ?? "";
  return <Why channel={channel} from={from} to={to} />;
}

/** A release that the picture does not have. */
function NotShown({ version, channel }: { version: string; channel: string }): JSX.Element {
  if (!isRelease(version)) return <p>A release is named whole: 4.20.3.</p>;
  return (
    <div class="stack-fill">
      <p>{version} is not in what is shown.</p>
      <Why channel={channel} from={version} to="" />
      <p><a href={here({ channel: "*" })}>Show all channels</a></p>
    </div>
  );
}

function describe(model: GraphModel, index: number, selected: number): string {
  const release = model.release(index);
  const { out, into } = model.counts(index);
  const edge = model.between(selected, index);
  const relation = edge ? `; the update from ${model.release(selected).version} is ${wordOf(edge.answer.kind)}` : "";
  return `${release.version}, ${out} updates from it, ${into} to it${relation}`;
}

const NONE: ReadonlySet<number> = new Set();

/** Releases whose version begins with what is typed, or holds it. */
function matching(model: GraphModel, text: string): ReadonlySet<number> {
  const wanted = text.trim();
  if (!wanted) return NONE;
  const starts = new Set<number>();
  const holds = new Set<number>();
  model.data.releases.forEach((release, index) => {
    if (release.version.startsWith(wanted)) starts.add(index);
    else if (release.version.includes(wanted)) holds.add(index);
  });
  const exactly = model.place(wanted);
  if (exactly >= 0) return new Set([exactly, ...starts]);
  return starts.size > 0 ? starts : holds;
}

interface SearchProps {
  value: string;
  onInput: (text: string) => void;
  found: ReadonlySet<number>;
  model: GraphModel;
  onTake: (release: number) => void;
}

function Search({ value, onInput, found, model, onTake }: SearchProps): JSX.Element {
  const first = [...found][0];
  return (
    <div class="search">
      <label class="search-field">
        <span class="off-screen">Search a release</span>
        <input
          type="search"
          value={value}
          placeholder="Search a release  /"
          data-search=""
          autoComplete="off"
          spellcheck={false}
          onInput={(event) => onInput(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && first !== undefined) onTake(first);
            else if (event.key === "Escape") onInput("");
          }}
        />
      </label>
      <span role="status" class="small-text muted">
        {value.trim() === "" ? "" : found.size === 0 ? "no release here" : found.size === 1 ? `${model.release(first!).version}: Enter selects it` : `${found.size} releases`}
      </span>
    </div>
  );
}

