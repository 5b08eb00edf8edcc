// Row of current figures at the top.

import type { Columns } from "../columns";
import { asked, extent, ratio } from "../columns";
import type { Tick } from "../contract";
import { byId, el, share, write } from "../dom";
import { bytes, count, exact, percent, rate, took } from "../format";

/** Seconds over which a figure is averaged: single seconds vary too much. */
const OVER = 5;

interface Figure {
    value: HTMLElement;
    note: HTMLElement;
    bar?: HTMLElement;
}

export class Figures {
    private readonly figures: Record<string, Figure> = {};

    constructor() {
        const row = byId("figures");
        const names: [string, string, boolean][] = [
            ["requests", "Requests a second", false],
            ["ratio", "Hit ratio", true],
            ["latency", "Time to first byte", false],
            ["origin", "Origin requests a second", false],
            ["php", "Active in PHP", true],
            ["connections", "Connections", false],
            ["sent", "Sent a second", false],
            ["errors", "Errors a second", false],
        ];
        for (const [id, title, hasBar] of names) {
            const figure: Figure = { value: el("b", {}, "–"), note: el("small", {}, " ") };
            if (hasBar) figure.bar = el("i", { class: "bar", "aria-hidden": "true" });
            row.append(el("div", { class: "figure", "data-figure": id }, el("span", {}, title), figure.value, figure.bar, figure.note));
            this.figures[id] = figure;
        }
    }

    show(tick: Tick, columns: Columns): void {
        const mean = (name: "requests" | "fetches" | "bytes" | "s4" | "s5"): number =>
            extent(columns[name].slice(-OVER))?.mean ?? 0;
        this.set("requests", rate(mean("requests")), `${exact(tick.total.requests)} since the start`);
        const ever = asked(tick.total);
        const since = ratio(ever.hits, ever.asked);
        const now = extent(columns.ratio.slice(-OVER))?.mean ?? since;
        this.set("ratio", percent(now), since == null ? "no cache used yet" : `${percent(since)} since the start`, now ?? 0);
        const { all, miss: missed } = tick.first_byte;
        const shown = all?.p50 ?? extent(columns.p50.slice(-30))?.mean ?? null;
        this.set("latency", took(shown), all ? `99 %: ${took(all.p99)}${missed ? `, misses: ${took(missed.p50)}` : ""}` : "no response this second");
        this.set("origin", rate(mean("fetches")), `${exact(tick.total.fetches)} since the start`);
        this.php(tick);
        const { active, reading, writing, waiting } = tick.connections;
        this.set("connections", exact(active), `${reading} reading, ${writing} writing, ${waiting} idle`);
        this.set("sent", bytes(mean("bytes")), `${bytes(tick.total.bytes)} since the start`);
        this.set("errors", rate(mean("s5")), `5xx; 4xx: ${rate(mean("s4"))}`);
        this.figures["errors"]?.value.classList.toggle("bad", mean("s5") > 0);
    }

    private php(tick: Tick): void {
        const pools = tick.origins.filter((origin) => origin.children != null);
        const children = pools.reduce((sum, pool) => sum + (pool.children ?? 0), 0);
        const idle = pools.reduce((sum, pool) => sum + (pool.children_idle ?? 0), 0);
        const work = tick.origins.reduce((sum, origin) => sum + origin.active, 0);
        const limits = tick.queues.map((queue) => queue.limit);
        const limit = children || (limits.length && limits.every((limit) => limit != null) ? limits.reduce<number>((sum, value) => sum + (value ?? 0), 0) : 0);
        const busy = pools.length ? children - idle : work;
        const waits = tick.queues.reduce((sum, queue) => sum + queue.waiting, 0);
        const queued = pools.reduce((sum, pool) => sum + (pool.listen_queue ?? 0), 0);
        const note = waits + queued ? `${exact(waits)} waiting, ${exact(queued)} in php-fpm’s queue` : "none waiting";
        this.set("php", limit ? `${count(busy)} of ${count(limit)}` : count(busy), note, limit ? busy / limit : 0);
        this.figures["php"]?.value.classList.toggle("bad", waits + queued > 0);
    }

    private set(id: string, value: string, note: string, part?: number): void {
        const figure = this.figures[id];
        if (!figure) return;
        write(figure.value, value);
        write(figure.note, note);
        if (figure.bar && part !== undefined) share(figure.bar, part);
    }
}
