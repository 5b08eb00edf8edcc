// Findings of the leak guard.

import { get } from "../api";
import type { Leak } from "../contract";
import { byId, el, fill } from "../dom";
import { clock, exact, many, span } from "../format";

/** Maximum number of findings that are shown. */
const MOST = 40;

/** Requests the findings of the leak guard, and shows them, latest first. */
export async function leaks(): Promise<void> {
    const told = await get<{ leaks: Leak[] }>("leaks", {});
    const place = byId("leaks");
    if (!told.leaks.length) return fill(place, [el("li", { class: "nothing" }, "No page contained data of a visitor.")]);
    fill(place, told.leaks.slice(0, MOST).map(leak));
}

function leak(one: Leak): HTMLElement {
    const left = one.until_ms - one.now_ms;
    const what = one.difference ? `${one.what}: ${one.difference}` : one.what;
    return el(
        "li",
        {},
        el("time", {}, clock(one.at_ms)),
        el("span", { class: "kind" }, one.state),
        el("span", { class: "what", title: `${one.page}: ${what}` }, `${one.page}: ${what}`),
        el("b", { title: `${exact(one.count)} responses` }, many(one.count, "response")),
        el("small", {}, left > 0 ? `${one.zone}, not stored for ${span(left)}` : one.zone),
    );
}
