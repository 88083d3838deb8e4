// The frame of all screens: where one is, the time, whether the page is up to date, and the screen itself.

import type { ComponentType, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { address, link } from "./address";
import { connection, lostSince } from "./api/live";
import { Shape, Time } from "./components/basics";
import { Guard } from "./components/guard";
import { Dialog } from "./components/dialog";
import { EndedLogin, LoginScreen } from "./components/login";
import { TimeBar, TimeButton } from "./components/timebar";
import { askForToken, TokenDialog } from "./components/token";
import { exact, isOtherTime } from "./clock";
import { helpOpen, KEYS } from "./keys";
import { callerIsKnown, callerWords, ready, session } from "./session";
import { nextTheme, theme } from "./theme";
import { token } from "./api/client";
import { ClusterScreen } from "./screens/cluster";
import { FleetScreen } from "./screens/fleet";
import { GraphScreen } from "./screens/graph";
import { LogScreen } from "./screens/log";
import { NodesScreen } from "./screens/nodes";
import { RolloutsScreen } from "./screens/rollouts";
import { SourcesScreen } from "./screens/sources";

export interface ScreenProps {
  /** The rest of the path: the decision's number, the cluster's id. */
  rest: string;
}

interface Place {
  path: string;
  title: string;
  icon: JSX.Element;
}

const PLACES: Place[] = [
  { path: "/graph", title: "Graph", icon: <path d="M3 16h6v-5h5V5M3 16h.01M14 5h.01" /> },
  { path: "/rollouts", title: "Rollouts", icon: <path d="M3 16c6 0 5-11 13-11M3 3v13h13" /> },
  { path: "/fleet", title: "Fleet", icon: <path d="M3 4h5v4H3zM12 4h5v4h-5zM3 12h5v4H3zM12 12h5v4h-5z" /> },
  { path: "/nodes", title: "Nodes", icon: <path d="M3 3h14v4H3zM3 8h14v4H3zM3 13h14v4H3zM6 5h.01M6 10h.01M6 15h.01" /> },
  { path: "/log", title: "Log", icon: <path d="M4 5h12M4 10h12M4 15h8" /> },
  { path: "/sources", title: "Sources", icon: <path d="M10 3c4 0 7 1 7 3s-3 3-7 3-7-1-7-3 3-3 7-3zM3 6v8c0 2 3 3 7 3s7-1 7-3V6M3 10c0 2 3 3 7 3s7-1 7-3" /> },
];

/** Which screen an address shows. The longest beginning comes first. */
const SCREENS: { path: string; screen: ComponentType<ScreenProps> }[] = [
  { path: "/fleet/clusters/", screen: ClusterScreen },
  { path: "/fleet", screen: FleetScreen },
  { path: "/rollouts", screen: RolloutsScreen },
  { path: "/login", screen: LoginScreen },
  { path: "/nodes", screen: NodesScreen },
  { path: "/log", screen: LogScreen },
  { path: "/sources", screen: SourcesScreen },
  { path: "/graph", screen: GraphScreen },
  { path: "/", screen: GraphScreen },
];

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function App(): JSX.Element {
  const path = address.value.path;
  const found = SCREENS.find((one) => path.startsWith(one.path))!;
  const rest = decoded(path.slice(found.path.length).replace(/^\//, ""));
  const Screen = found.screen;
  return (
    <div class={isOtherTime.value ? "frame other-time" : "frame"} data-caller={callerIsKnown.value ? "known" : undefined}>
      <a class="skip" href="#main">Skip to the content</a>
      <TopBar />
      <Places current={path} />
      <Main path={path}>
        <Notices />
        <Guard address={location.pathname + location.search}>
          <Screen rest={rest} />
        </Guard>
      </Main>
      <TokenDialog />
      {helpOpen.value && <Help />}
    </div>
  );
}

/** The focus goes to the beginning of a screen that one has gone to, so that it is read out. */
function Main({ path, children }: { path: string; children: JSX.Element[] }): JSX.Element {
  const element = useRef<HTMLElement>(null);
  const screen = "/" + (path.split("/")[1] || "graph");
  const shown = useRef(path);
  useEffect(() => {
    const title = PLACES.find((place) => place.path === screen)?.title ?? "Graph";
    document.title = `${title} · Towpath`;
  }, [path]);
  // At once: a moment later somebody may have gone on with the keyboard.
  useLayoutEffect(() => {
    if (shown.current !== path) element.current?.focus({ preventScroll: true });
    shown.current = path;
  }, [path]);
  return <main id="main" ref={element} tabIndex={-1}>{children}</main>;
}

function TopBar(): JSX.Element {
  return (
    <header class="top">
      <a class="brand" href={link("/graph")}>Towpath</a>
      <TimeBar />
      <div class="top-tools">
        <ConnectionMark />
        <TimeButton />
        <button type="button" class="quiet" onClick={askForToken} title={token.value ? "A token is in use" : session.value?.login ? "Log in, or enter a token" : "Enter a token"}>
          {token.value ? callerWords() : session.value?.login ? "Log in" : "Token"}
        </button>
        <button type="button" class="quiet wide-only" onClick={nextTheme} aria-label={`Colours: ${COLOURS[theme.value]}`} title="Light, dark, or as the system says">
          {COLOURS[theme.value]}
        </button>
        <button type="button" class="quiet" onClick={() => (helpOpen.value = true)} aria-label="Keys and help">?</button>
      </div>
    </header>
  );
}

const COLOURS = { system: "Auto", light: "Light", dark: "Dark" } as const;

function ConnectionMark(): JSX.Element {
  const said = {
    connecting: ["quiet", "Connecting", "The service is being reached"],
    live: ["offered", "Live", "Changes are shown as they happen"],
    polling: ["conditional", "Polling", "The service sends no events here; the page asks every 15 seconds"],
    lost: ["failing", "Not connected", "The service cannot be reached; the page tries again by itself"],
  }[connection.value] as [("quiet" | "offered" | "conditional" | "failing"), string, string];
  return (
    <span class={`connection tone-${said[0]}`} role="status" title={said[2]}>
      <Shape tone={said[0]} /> <span class="connection-word">{said[1]}</span>
    </span>
  );
}

function Places({ current }: { current: string }): JSX.Element {
  const screen = "/" + (current.split("/")[1] || "graph");
  return (
    <nav class="places" aria-label="Screens">
      {PLACES.map((place) => (
        <a key={place.path} href={link(place.path)} aria-current={place.path === screen ? "page" : undefined}>
          <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round">{place.icon}</svg>
          <span>{place.title}</span>
        </a>
      ))}
    </nav>
  );
}

/** What everybody has to know before reading on: lost, stale, failed, an example. */
function Notices(): JSX.Element {
  const now = ready.value;
  const troubled = now?.sources.filter((source) => source.problem) ?? [];
  return (
    <div class="notices">
      <EndedLogin />
      {connection.value === "lost" && (
        <p class="note note-failing" role="alert">
          <Shape tone="failing" /> The service has not been reached since {exact(lostSince.value ?? Date.now(), true)}. What you see is from before. The page tries again by itself.
        </p>
      )}
      {now?.lastReload.result === "failed" && (
        <p class="note note-failing">
          <Shape tone="failing" /> The last reload failed <Time at={now.lastReload.at} real />: the last good graph is served. <a href={link("/sources")}>What is wrong</a>
        </p>
      )}
      {now?.lastReload.result !== "failed" && troubled.length > 0 && (
        <p class="note note-conditional">
          <Shape tone="conditional" /> {troubled.length === 1 ? `Source ${troubled[0]!.name} has` : `${troubled.length} sources have`} a problem. <a href={link("/sources")}>Which one</a>
        </p>
      )}
      {session.value?.example && (
        <p class="note">
          <Shape tone="quiet" /> This is the built-in example. <code>towpath serve --graph-data … --releases …</code> shows your own.
        </p>
      )}
    </div>
  );
}

function Help(): JSX.Element {
  return (
    <Dialog title="Keys" onClose={() => (helpOpen.value = false)}>
      <dl class="keys">
        {[...KEYS, ...GRAPH_KEYS].map(([key, what]) => (
          <div key={key}>
            <dt><kbd>{key}</kbd></dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p class="muted">
        Every picture has a table beside it with the same. All that you choose is in the address: a link is the answer.
        {session.value && ` Towpath ${session.value.version}${session.value.commit ? ` (${session.value.commit})` : ""}.`}
      </p>
      <p class="narrow-only">
        <button type="button" onClick={nextTheme}>Colours: {theme.value}</button>
      </p>
    </Dialog>
  );
}

const GRAPH_KEYS: readonly [string, string][] = [
  ["arrow keys", "on the graph: the next release, the next lane"],
  ["Enter", "on the graph: select the release"],
  ["e, shift e", "on the graph: the next or the last update of the selected release"],
  ["+, -, 0", "on the graph: closer, farther, all of it"],
];
