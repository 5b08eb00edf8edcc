// Tables: a caption for screen readers, rows, and a sentence if there are none.

import { el, fill } from "../dom";

export type Cell = Node | string | null;

export interface Column {
    label: string;
    /** `number` is right-aligned, `wide` takes the remaining width, `minor` is hidden on small screens. */
    kind?: string;
}

/** Replaces the content of an element by a table. The first cell of a row is its header. */
export function table(place: Element, caption: string, columns: Column[], rows: Cell[][], nothing: string): void {
    if (!rows.length) {
        fill(place, [el("p", { class: "nothing" }, nothing)]);
        return;
    }
    const head = columns.map((column) => el("th", { scope: "col", class: column.kind }, column.label));
    const body = rows.map((row) =>
        el(
            "tr",
            {},
            ...row.map((cell, index) => {
                const column = columns[index];
                const attributes = { class: column?.kind, "data-label": column?.label };
                return index === 0 ? el("th", { scope: "row", ...attributes }, cell) : el("td", attributes, cell);
            }),
        ),
    );
    fill(place, [
        el("table", {}, el("caption", { class: "unseen" }, caption), el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...body)),
    ]);
}
