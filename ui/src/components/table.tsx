// A table: headers, numbers to the right, sorting where the rows are all there, and a region that scrolls by keyboard.
//
// On a narrow screen each row is a card of its own: its cells below each other, each with its header. The roles are
// written out because a browser forgets them for cells that are laid out as blocks.

import type { ComponentChildren, JSX } from "preact";
import { useId, useMemo, useState } from "preact/hooks";

export interface Column<T> {
  /** A stable name. */
  key: string;
  title: string;
  cell: (row: T) => ComponentChildren;
  /** Numbers are aligned on the right. */
  numeric?: boolean;
  /** What rows are sorted by. Without it the column cannot be sorted. */
  sort?: (row: T) => string | number;
  /** The cell that names its row. */
  head?: boolean;
}

interface Props<T> {
  /** What the table is; read out by screen readers, and shown if `showCaption`. */
  caption: string;
  showCaption?: boolean;
  columns: Column<T>[];
  rows: readonly T[];
  rowKey: (row: T, index: number) => string | number;
  /** The row is marked as the one that is selected. */
  selected?: (row: T) => boolean;
  empty?: ComponentChildren;
  /** At most so many rows are drawn at first; a button shows more. */
  atFirst?: number;
}

export function Table<T>({ caption, showCaption, columns, rows, rowKey, selected, empty, atFirst = 200 }: Props<T>): JSX.Element {
  const name = useId();
  const [order, setOrder] = useState<{ key: string; down: boolean } | null>(null);
  const [more, setMore] = useState(1);
  const sorted = useMemo(() => {
    const column = order && columns.find((one) => one.key === order.key);
    if (!column?.sort) return rows;
    const by = column.sort;
    const sign = order!.down ? -1 : 1;
    return [...rows].sort((a, b) => sign * compare(by(a), by(b)));
  }, [rows, order, columns]);
  const shown = sorted.slice(0, atFirst * more);
  if (rows.length === 0) return <div class="state">{empty ?? <p>None.</p>}</div>;
  return (
    <div class="table-frame">
      <div class="table-scroll" role="region" aria-labelledby={name} tabIndex={0}>
        <table role="table">
          <caption id={name} class={showCaption ? undefined : "off-screen"}>{caption}</caption>
          <thead role="rowgroup">
            <tr role="row">
              {columns.map((column) => (
                <th
                  key={column.key}
                  scope="col"
                  role="columnheader"
                  class={column.numeric ? "number" : undefined}
                  aria-sort={order?.key === column.key ? (order.down ? "descending" : "ascending") : undefined}
                >
                  {column.sort ? (
                    <button type="button" class="sort" onClick={() => setOrder((was) => ({ key: column.key, down: was?.key === column.key ? !was.down : false }))}>
                      {column.title}
                      <span aria-hidden="true" class="sort-sign">{order?.key === column.key ? (order.down ? "▾" : "▴") : ""}</span>
                    </button>
                  ) : (
                    column.title
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody role="rowgroup">
            {shown.map((row, index) => (
              <tr key={rowKey(row, index)} role="row" class={selected?.(row) ? "selected" : undefined} aria-current={selected?.(row) ? "true" : undefined}>
                {columns.map((column) =>
                  column.head ? (
                    <th key={column.key} scope="row" role="rowheader" data-label={column.title}>{column.cell(row)}</th>
                  ) : (
                    <td key={column.key} role="cell" data-label={column.title} class={column.numeric ? "number" : undefined}>{column.cell(row)}</td>
                  ),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown.length < sorted.length && (
        <button type="button" class="small" onClick={() => setMore(more + 4)}>
          Show more ({sorted.length - shown.length} left)
        </button>
      )}
    </div>
  );
}

const words = new Intl.Collator("en", { numeric: true });

function compare(a: string | number, b: string | number): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return words.compare(String(a), String(b));
}
