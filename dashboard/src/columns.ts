// Columns of figures over time, from live ticks and from stored history: rates per second, milliseconds, bytes.

import type { History, Known, Status, Tick } from "./contract";

export const NAMES = [
    "hit", "stale", "miss", "bypass", "uncached", "requests", "ratio", "fetches", "s4", "s5", "bytes",
    "p50", "p90", "p99", "miss_p50", "miss_p99", "connections", "origin_active", "listen_queue", "waiting",
] as const;
export type Name = (typeof NAMES)[number];

/** Columns of equal length; `at` are seconds since the Unix epoch. */
export type Columns = { at: number[]; step: number } & Record<Name, Known[]>;

export function empty(step: number): Columns {
    const columns = { at: [], step } as unknown as Columns;
    for (const name of NAMES) columns[name] = [];
    return columns;
}

/** Share of requests that the cache answered; null if it had none. */
export function ratio(hits: number, asked: number): Known {
    return asked > 0 ? hits / asked : null;
}

/** Counts responses that did not wait for an origin, and requests that looked up the cache (all except bypasses). */
export function asked(counts: Record<Status, number>): { hits: number; asked: number } {
    const hits = counts.hit + counts.stale + counts.updating;
    return { hits, asked: hits + counts.miss + counts.expired + counts.revalidated };
}

/** Appends a tick, and retains the newest `most` rows. */
export function append(columns: Columns, tick: Tick, most: number): void {
    const { delta } = tick;
    const per = 1000 / Math.max(tick.interval_ms, 1);
    const hit = delta.hit;
    const stale = delta.stale + delta.updating;
    const miss = delta.miss + delta.expired + delta.revalidated;
    const times = tick.first_byte;
    const sum = (of: (origin: Tick["origins"][number]) => Known | undefined): number =>
        tick.origins.reduce((all, origin) => all + (of(origin) ?? 0), 0);
    const row: Record<Name, Known> = {
        hit: hit * per,
        stale: stale * per,
        miss: miss * per,
        bypass: delta.bypass * per,
        uncached: delta.uncached * per,
        requests: delta.requests * per,
        ratio: ratio(hit + stale, hit + stale + miss),
        fetches: delta.fetches * per,
        s4: delta.status_4xx * per,
        s5: delta.status_5xx * per,
        bytes: delta.bytes * per,
        p50: times.all?.p50 ?? null,
        p90: times.all?.p90 ?? null,
        p99: times.all?.p99 ?? null,
        miss_p50: times.miss?.p50 ?? null,
        miss_p99: times.miss?.p99 ?? null,
        connections: tick.connections.active,
        origin_active: sum((origin) => origin.active),
        listen_queue: sum((origin) => origin.listen_queue),
        waiting: tick.queues.reduce((all, queue) => all + queue.waiting, 0),
    };
    columns.at.push(tick.at_ms / 1000);
    for (const name of NAMES) columns[name].push(row[name]);
    const over = columns.at.length - most;
    if (over > 0) for (const list of [columns.at, ...NAMES.map((name) => columns[name])]) list.splice(0, over);
}

/** Returns columns from the server's history. */
export function ofHistory(history: History): Columns {
    const columns = empty(history.step_s);
    const { series } = history;
    const at = (name: string, index: number): Known => series[name]?.[index] ?? null;
    for (let index = 0; index < history.points; index++) {
        const per = 1 / history.step_s;
        const add = (...names: string[]): Known => {
            const values = names.map((name) => at(name, index));
            return values.every((value) => value == null) ? null : values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
        };
        const rated = (value: Known): Known => (value == null ? null : value * per);
        const [hits, rest] = [add("hit", "stale", "updating"), add("miss", "expired", "revalidated")];
        const row: Record<Name, Known> = {
            hit: rated(add("hit")),
            stale: rated(add("stale", "updating")),
            miss: rated(add("miss", "expired", "revalidated")),
            bypass: rated(add("bypass")),
            uncached: rated(add("uncached")),
            requests: rated(add("requests")),
            ratio: hits == null ? null : ratio(hits, hits + (rest ?? 0)),
            fetches: rated(add("fetches")),
            s4: rated(add("status_4xx")),
            s5: rated(add("status_5xx")),
            bytes: rated(add("bytes")),
            p50: at("first_byte_p50", index),
            p90: at("first_byte_p90", index),
            p99: at("first_byte_p99", index),
            miss_p50: at("miss_p50", index),
            miss_p99: at("miss_p99", index),
            connections: at("connections", index),
            origin_active: at("origin_active", index),
            listen_queue: at("listen_queue", index),
            waiting: at("waiting", index),
        };
        columns.at.push((history.at_ms[index] ?? 0) / 1000);
        for (const name of NAMES) columns[name].push(row[name]);
    }
    return columns;
}

/** Returns the last known figure. */
export function last(list: Known[]): Known {
    for (let index = list.length - 1; index >= 0; index--) if (list[index] != null) return list[index] ?? null;
    return null;
}

/** Returns minimum, mean and maximum of the known figures. */
export function extent(list: Known[]): { low: number; mean: number; high: number } | null {
    const known = list.filter((value): value is number => value != null);
    if (!known.length) return null;
    const sum = known.reduce((all, value) => all + value, 0);
    return { low: Math.min(...known), mean: sum / known.length, high: Math.max(...known) };
}
