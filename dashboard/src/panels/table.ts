// Tables: a caption for those who do not see it, rows, and a sentence where there are none.

import { el, fill } from "../dom";

export type Cell = Node | string | null;

export interface Column {
    label: string;
    /** `number` stands at the right, `wide` takes what is left, `minor` is left out on small screens. */
    kind?: string;
}

/** Fills a place with a table. The first cell of a row is its head. */
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
