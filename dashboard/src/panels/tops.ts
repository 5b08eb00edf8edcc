// Top pages, top misses with their reasons, slowest pages. A URL is a button that opens the inspector.

import { get } from "../api";
import type { TopPage, Tops } from "../contract";
import { byId, el, share } from "../dom";
import { bytes, count, exact, NONE, percent, took } from "../format";
import { table, type Cell, type Column } from "./table";

const LIMIT = 8;
/** Requests of this page are excluded. */
const OWN = location.origin + location.pathname;

export class TopLists {
    private reasons: Record<string, string> | null = null;

    constructor(private readonly inspect: (url: string) => void) {}

    /** Requests all three lists. */
    async refresh(): Promise<void> {
        this.reasons ??= (await get<{ reasons: Record<string, string> }>("reasons").catch(() => ({ reasons: {} }))).reasons;
        const [requests, misses, slow] = await Promise.all(
            ["requests", "misses", "slow"].map((by) => get<Tops>("tops", { by, limit: 2 * LIMIT })),
        );
        if (requests) this.requests(requests);
        if (misses) this.misses(misses);
        if (slow) this.slow(slow);
    }

    private requests(tops: Tops): void {
        this.list("top-pages", "Top pages", tops, [{ label: "Requests", kind: "number" }, { label: "Hits", kind: "number" }], (page) => {
            const asked = page.requests ?? page.count;
            const hits = page.misses == null || !asked ? NONE : percent(Math.max(0, asked - page.misses) / asked);
            return [exact(page.count), hits];
        });
    }

    private misses(tops: Tops): void {
        this.list("top-misses", "Top misses", tops, [{ label: "Misses", kind: "number" }, { label: "Reason", kind: "why" }], (page) => [
            exact(page.count),
            this.why(page),
        ]);
    }

    private slow(tops: Tops): void {
        this.list("top-slow", "Slowest pages", tops, [{ label: "Slowest", kind: "number" }, { label: "Mean", kind: "number" }], (page) => [
            took(page.slowest_ms ?? page.count),
            took(page.mean_ms),
        ]);
    }

    private list(id: string, caption: string, tops: Tops, columns: Column[], cells: (page: TopPage) => Cell[]): void {
        const pages = tops.pages.filter((page) => !page.url.startsWith(OWN)).slice(0, LIMIT);
        const most = Math.max(...pages.map((page) => page.count), 1);
        const rows = pages.map((page) => [this.page(page, page.count / most), ...cells(page)]);
        table(byId(id), caption, [{ label: "Page", kind: "wide" }, ...columns], rows, "No requests in the last minutes.");
    }

    private page(page: TopPage, part: number): HTMLElement {
        const { host, path } = parts(page.url);
        const button = el("button", { type: "button", class: "link", title: page.url, onclick: () => this.inspect(page.url) });
        button.append(el("span", {}, path));
        const bar = el("i", { class: "bar", "aria-hidden": "true" });
        share(bar, part);
        const notes = [host, page.bytes == null ? "" : bytes(page.bytes), page.over ? `±${count(page.over)}` : ""].filter(Boolean);
        return el("span", { class: "page" }, button, bar, el("small", {}, notes.join(" · ")));
    }

    private why(page: TopPage): HTMLElement {
        const reason = page.reason ?? page.reasons?.[0]?.reason ?? "unknown";
        const told = this.reasons?.[reason];
        const others = (page.reasons ?? []).filter((other) => other.reason !== reason).map((other) => `${other.reason} ${count(other.count)}×`);
        return el(
            "span",
            { class: "two" },
            el("span", {}, page.cache && el("abbr", { class: `status ${statusClass(page.cache)}` }, page.cache), reason),
            told && el("small", {}, told),
            others.length > 0 && el("small", {}, `also: ${others.join(", ")}`),
        );
    }
}

/** Returns the class of a `$upstream_cache_status`, which selects a colour. */
export function statusClass(status: string): string {
    return { HIT: "hit", REVALIDATED: "miss", STALE: "stale", UPDATING: "stale", MISS: "miss", EXPIRED: "miss" }[status] ?? "bypass";
}

/** Returns host and path of a URL as sent by a visitor, which may be invalid. */
export function parts(url: string): { host: string; path: string } {
    const found = /^https?:\/\/([^/]*)(\/.*)?$/.exec(url);
    return found ? { host: found[1] ?? "", path: found[2] ?? "/" } : { host: "", path: url };
}
