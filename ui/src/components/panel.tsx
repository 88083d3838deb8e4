// The panel on the right that says why. It is part of the page's order, after what it explains.

import type { ComponentChildren, JSX } from "preact";

export function Panel({ title, onClose, children }: { title: ComponentChildren; onClose?: () => void; children: ComponentChildren }): JSX.Element {
  return (
    <aside class="panel" aria-label="Why">
      <header class="panel-head">
        <h2>{title}</h2>
        {onClose && <button type="button" class="quiet" aria-label="Close why" onClick={onClose}>✕</button>}
      </header>
      {children}
    </aside>
  );
}
