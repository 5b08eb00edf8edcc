// Inspector: the path of a URL through the configuration, and the pages stored for it.

import { get, Refused } from "../api";
import type { Inspection, StoredPage } from "../contract";
import { byId, el, fill, type Child } from "../dom";
import { bytes, clock, many, span } from "../format";
import { table } from "./table";

export class Inspector {
    private readonly form = byId<HTMLFormElement>("inspect-form");
    private readonly url = byId<HTMLInputElement>("inspect-url");
    private readonly cookie = byId<HTMLInputElement>("inspect-cookie");
    private readonly result = byId("inspect-result");
    private asked = 0;

    constructor(private readonly purge: (url: string) => void) {
        this.form.addEventListener("submit", (event) => {
            event.preventDefault();
            void this.ask();
        });
    }

    /** Inspects a URL that was selected elsewhere. */
    show(url: string): void {
        this.url.value = url;
        this.form.scrollIntoView({ block: "start" });
        this.url.focus({ preventScroll: true });
        void this.ask();
    }

    private async ask(): Promise<void> {
        const url = this.url.value.trim();
        if (!url) return this.url.focus();
        const mine = ++this.asked;
        this.result.setAttribute("aria-busy", "true");
        const cookie = this.cookie.value.trim();
        try {
            const told = await get<Inspection>("inspect", { url, ...(cookie ? { cookie } : {}) });
            if (mine === this.asked) this.tell(told);
        } catch (error) {
            if (mine !== this.asked) return;
            const why = error instanceof Refused ? error.message : "the server does not respond";
            fill(this.result, [el("p", { class: "said bad" }, `Inspection failed: ${why}`)]);
        } finally {
            this.result.removeAttribute("aria-busy");
        }
    }

    private tell(told: Inspection): void {
        const facts: [string, string | null][] = [
            ["Server", told.server],
            ["Location", told.location],
            ["Zone", told.zone ?? "none"],
            ["Key", told.key],
            ["Cache read", told.read],
            ["Cache write", told.store],
        ];
        const button = el("button", { type: "button", onclick: () => this.purge(told.url) }, "Purge this URL …");
        const way = el("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": "Path through the configuration" });
        const rows = told.lines.map((line) => [line.topic, line.text, line.outcome, line.at ?? ""]);
        table(way, "Path through the configuration", [{ label: "Step" }, { label: "Details", kind: "wide" }, { label: "Result" }, { label: "Position", kind: "minor" }], rows, "No steps.");
        fill(this.result, [
            el("dl", { class: "facts rows" }, ...facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value ?? "–")))),
            el("h3", {}, told.stored.length ? `Stored: ${many(told.stored.length, "variant")}` : "Nothing is stored"),
            ...told.stored.map((page) => stored(page)),
            told.stored.length > 0 && button,
            el("details", {}, el("summary", {}, `Complete path: ${many(told.lines.length, "step")}`), way),
        ]);
    }
}

const TIERS: Record<string, string> = { memory: "memory", disk: "disk", both: "memory and disk" };

function stored(page: StoredPage): HTMLElement {
    const left = page.fresh_until_ms - page.now_ms;
    const age = page.now_ms - page.stored_ms;
    const facts: [string, Child][] = [
        ["State", el("span", { class: left > 0 ? "state good" : "state fair" }, left > 0 ? `fresh for ${span(left)}` : `stale for ${span(-left)}`)],
        ["Status", `${page.status} ${page.media_type}`],
        ["Stored", `${clock(page.stored_ms)}, ${span(age)} ago`],
        ["Served", many(page.hits, "time")],
        ["Stored in", TIERS[page.tier] ?? page.tier],
        ["Encodings", encodings(page)],
        ["Varies by", page.variant || "nothing"],
        ["Tags", page.tags.length ? page.tags.join(" ") : "none"],
    ];
    return el("dl", { class: "facts stored" }, ...facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

function encodings(page: StoredPage): string {
    const all = [{ coding: "identity", bytes: page.bytes }, ...page.encodings];
    return all.map((one) => `${one.coding} ${bytes(one.bytes)}`).join(", ");
}
