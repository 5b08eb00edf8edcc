// Cache zones: their use of memory and disk, their responses, and the encodings of stored pages.

import { asked, ratio } from "../columns";
import type { Known, Zone } from "../contract";
import { byId, el, fill, share } from "../dom";
import { bytes, count, exact, many, percent } from "../format";

export function zones(list: Zone[]): void {
    const place = byId("zones");
    if (!list.length) return fill(place, [el("p", { class: "nothing" }, "No cache zones.")]);
    fill(place, list.map(zone));
}

function zone(one: Zone): HTMLElement {
    const total = asked(one.requests);
    const rows = [
        gauge("Memory", one.memory.bytes, one.memory.limit_bytes, many(one.memory.pages, "page")),
        one.disk && gauge("Disk", one.disk.bytes, one.disk.limit_bytes, many(one.disk.pages, "page")),
    ];
    const most = Math.max(...one.encodings.map((encoding) => encoding.bytes), 1);
    return el(
        "article",
        { class: "zone" },
        el("h3", {}, one.zone, el("small", {}, `${percent(ratio(total.hits, total.asked))} hits of ${count(total.asked)} requests, ${count(one.requests.bypass)} bypassed`)),
        ...rows,
        el(
            "dl",
            { class: "facts" },
            fact("Stored", exact(one.stored)),
            fact("Purged", exact(one.purged)),
            fact("Fetches in progress", exact(one.fetching)),
        ),
        one.encodings.length
            ? el(
                  "ul",
                  { class: "encodings", "aria-label": "Encodings in memory" },
                  ...one.encodings.map((encoding) => {
                      const bar = el("i", { class: "bar", "aria-hidden": "true" });
                      share(bar, encoding.bytes / most);
                      return el("li", {}, el("span", {}, encoding.coding), bar, el("b", {}, bytes(encoding.bytes)), el("small", {}, many(encoding.pages, "page")));
                  }),
              )
            : el("p", { class: "nothing" }, "Encodings are being counted …"),
    );
}

function gauge(name: string, used: number, limit: Known, note: string): HTMLElement {
    const bar = el("i", { class: "bar wide", "aria-hidden": "true" });
    share(bar, limit ? used / limit : 0);
    const of = limit ? ` of ${bytes(limit)}` : ", without a limit";
    return el("div", { class: "gauge" }, el("span", {}, name), el("b", {}, bytes(used)), el("small", {}, `${of.trim().replace(/^,\s*/, "")}, ${note}`), bar);
}

function fact(name: string, value: string): HTMLElement {
    return el("div", {}, el("dt", {}, name), el("dd", {}, value));
}
