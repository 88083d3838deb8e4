// Saving what is on the screen as a file.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { credentials } from "../api/client";

/** Gives a text to the browser as a file. */
export function save(name: string, text: string, type: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

const FORMATS = [
  { format: "svg", name: "SVG", end: "svg", type: "image/svg+xml" },
  { format: "dot", name: "DOT", end: "dot", type: "text/vnd.graphviz" },
  { format: "mermaid", name: "Mermaid", end: "mmd", type: "text/plain" },
  { format: "json", name: "JSON", end: "json", type: "application/json" },
];

/** Buttons that save a picture in each format. `address` says where it comes from. */
export function SaveAs({ what, name, address }: { what: string; name: string; address: (format: string) => string }): JSX.Element {
  const [said, say] = useState("");
  const load = async (format: string, end: string, type: string) => {
    say("");
    try {
      const response = await fetch(address(format), { headers: { ...credentials(), accept: "*/*" } });
      const text = await response.text();
      if (!response.ok) throw new Error((JSON.parse(text) as { value?: string }).value ?? `status ${response.status}`);
      save(`${name}.${end}`, text, type);
      say(`Saved ${name}.${end}`);
    } catch (error) {
      say((error as Error).message);
    }
  };
  return (
    <div class="save" role="group" aria-label={`Save ${what}`}>
      <span class="muted small-text">Save {what}</span>
      {FORMATS.map(({ format, name: text, end, type }) => (
        <button key={format} type="button" class="small" onClick={() => void load(format, end, type)}>{text}</button>
      ))}
      <span role="status" class="small-text muted">{said}</span>
    </div>
  );
}
