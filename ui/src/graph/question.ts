// What the graph screen asks, as it stands in the address, and the addresses of the API that answer it.

import { at, param } from "../address";
import { url, type Query } from "../api/client";

export interface GraphQuestion {
  channel: string;
  from: string;
  to: string;
  id: string;
  platform: string;
  arch: string;
  panel: string;
}

export function question(): GraphQuestion {
  return {
    channel: param("channel"),
    from: param("from"),
    to: param("to"),
    id: param("id"),
    platform: param("platform"),
    arch: param("arch"),
    panel: param("panel"),
  };
}

/** Who asks, and when: a part of every question. */
export function asker(): Query {
  return { arch: param("arch"), id: param("id"), platform: param("platform"), now: at.value };
}

export const graphUrl = (channels: string, format = ""): string => url("/api/v1/graph", { channel: channels, ...asker(), format });

export const explainUrl = (channel: string, from: string, to: string): string => url("/api/v1/explain", { channel, from, to, ...asker() });

/** What may be chosen of a path, as the API takes it. */
export const PATH_CHOICES = ["via", "prefer", "risks", "nodes", "max-unavailable", "on", "alternatives"] as const;

function pathChoices(): Query {
  const chosen: Query = Object.fromEntries(PATH_CHOICES.map((name) => [name, param(name)]));
  // "Stay in the channel" is the API's other parameter.
  if (chosen["via"] === "channel") {
    chosen["via"] = "";
    chosen["channel"] = param("channel").split(",")[0];
  }
  return chosen;
}

export const pathUrl = (from: string, to: string, format = ""): string => url("/api/v1/path", { from, to, ...asker(), ...pathChoices(), format });

export function mirrorUrl(from: string, to: string, format: string): string {
  const { via, risks } = pathChoices();
  const { arch, platform, now } = asker();
  return url("/api/v1/mirror", { from, to, via, risks, arch, platform, now, format });
}

/** Whether a release is named whole: 4.20.3, not 4.20 or newest. */
export const isRelease = (text: string): boolean => /^\d+\.\d+\.\d+/.test(text);
