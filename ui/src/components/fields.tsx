// Fields of a question. What is typed goes into the address when it is finished, so that a link is the answer.

import type { ComponentChildren, JSX } from "preact";
import { useId, useLayoutEffect, useState } from "preact/hooks";
import { change, param } from "../address";

interface FieldProps {
  /** The name in the address. */
  name: string;
  label: string;
  placeholder?: string;
  /** What may be chosen; anything else may still be typed. */
  suggestions?: readonly string[];
  /** `/` leads here. */
  search?: boolean;
  width?: "short" | "wide";
  /** Other state that a change resets. */
  resets?: readonly string[];
}

/** A field whose value stands in the address. Enter or leaving it takes the value over, Escape takes it back. */
export function Field({ name, label, placeholder, suggestions, search, width, resets = [] }: FieldProps): JSX.Element {
  const list = useId();
  const value = param(name);
  const [typed, setTyped] = useState(value);
  // At once: a moment later it would take away what has been typed since.
  useLayoutEffect(() => setTyped(value), [value]);
  const take = (text: string) => {
    const wanted = text.trim();
    if (wanted === param(name)) return;
    change({ [name]: wanted, ...Object.fromEntries(resets.map((other) => [other, ""])) });
  };
  return (
    <label class={`field ${width ?? ""}`}>
      <span>{label}</span>
      <input
        name={name}
        value={typed}
        placeholder={placeholder}
        list={suggestions ? list : undefined}
        autoComplete="off"
        autoCapitalize="off"
        spellcheck={false}
        data-search={search ? "" : undefined}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          // A choice from the list is taken at once. What is typed may only be the beginning of another.
          const typing = (event as InputEvent).inputType?.startsWith("insertText") || (event as InputEvent).inputType?.startsWith("delete");
          if (!typing && suggestions?.includes(event.currentTarget.value)) take(event.currentTarget.value);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") take(typed);
          else if (event.key === "Escape") setTyped(value);
        }}
        onBlur={() => take(typed)}
      />
      {suggestions && (
        <datalist id={list}>
          {suggestions.map((one) => <option key={one} value={one} />)}
        </datalist>
      )}
    </label>
  );
}

/** A choice whose value stands in the address. The first option is the default, and leaves nothing there. */
export function Choice({ name, label, options, width }: { name: string; label: string; options: readonly { value: string; text: string }[]; width?: "short" | "wide" }): JSX.Element {
  const value = param(name);
  const known = options.some((option) => option.value === value);
  return (
    <label class={`field ${width ?? ""}`}>
      <span>{label}</span>
      <select name={name} value={value} onChange={(event) => change({ [name]: event.currentTarget.value })}>
        {options.map((option) => <option key={option.value} value={option.value}>{option.text}</option>)}
        {!known && <option value={value}>{value}</option>}
      </select>
    </label>
  );
}

/** The question of a screen: its fields in a row that wraps. */
export function Question({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  return (
    <form class="question" role="search" aria-label={label} onSubmit={(event) => event.preventDefault()}>
      {children}
    </form>
  );
}

/** Views of one screen, as links. */
export function Tabs({ label, tabs }: { label: string; tabs: readonly { href: string; text: ComponentChildren; current: boolean }[] }): JSX.Element {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <a key={tab.href} href={tab.href} aria-current={tab.current ? "page" : undefined}>{tab.text}</a>
      ))}
    </nav>
  );
}
