// Origins: servers of upstream groups, PHP pools and their queues; workers; servers of the site.

import type { Queue, ServerZones, Tick } from "../contract";
import { byId, el, share } from "../dom";
import { bytes, count, exact, NONE } from "../format";
import { table } from "./table";

export function origins(tick: Tick): void {
    const rows = tick.origins.map((origin) => {
        const pool = origin.children == null ? NONE : `${exact(origin.children - (origin.children_idle ?? 0))} of ${exact(origin.children)}`;
        return [
            el("span", { class: "two" }, origin.group, el("small", {}, origin.server)),
            state(origin.state),
            exact(origin.active),
            pool,
            exact(origin.listen_queue ?? null),
            count(origin.requests),
            origin.failures ? el("span", { class: "bad" }, exact(origin.failures)) : "0",
        ];
    });
    const columns = [
        { label: "Upstream and server", kind: "wide" },
        { label: "State" },
        { label: "Active", kind: "number" },
        { label: "Busy children", kind: "number" },
        { label: "php-fpm queue", kind: "number" },
        { label: "Requests", kind: "number" },
        { label: "Failures", kind: "number" },
    ];
    table(byId("origins"), "Servers of upstream groups", columns, rows, "No upstream groups.");
    queues(tick.queues);
}

function queues(list: Queue[]): void {
    const rows = list.map((queue) => [
        queue.name,
        exact(queue.asking),
        queue.limit == null ? "none" : exact(queue.limit),
        queue.waiting ? el("span", { class: "bad" }, exact(queue.waiting)) : "0",
    ]);
    const columns = [
        { label: "Queue", kind: "wide" },
        { label: "Active", kind: "number" },
        { label: "Limit", kind: "number" },
        { label: "Waiting", kind: "number" },
    ];
    table(byId("queues"), "Queues in front of upstreams", columns, rows, "No queues (origin_queue).");
}

function state(word: string): HTMLElement {
    return stateOf(word, ["up"], ["down", "unhealthy", "unavail"]);
}

/** Returns an element with the word for a state, colored as good, bad or in between. */
export function stateOf(word: string, good: string[], bad: string[]): HTMLElement {
    return el("span", { class: `state ${good.includes(word) ? "good" : bad.includes(word) ? "bad" : "fair"}` }, word);
}

export function workers(tick: Tick): void {
    const most = Math.max(...tick.workers.map((worker) => worker.requests), 1);
    const rows = tick.workers.map((worker) => {
        const bar = el("i", { class: "bar", "aria-hidden": "true" });
        share(bar, worker.requests / most);
        return [String(worker.worker), el("span", { class: "barred" }, bar), exact(worker.requests), exact(worker.active)];
    });
    const columns = [
        { label: "Worker" },
        { label: "Share", kind: "wide minor" },
        { label: "Requests", kind: "number" },
        { label: "Connections", kind: "number" },
    ];
    table(byId("workers"), "Workers", columns, rows, "No data from workers yet.");
}

export function servers(zones: ServerZones): void {
    const rows = Object.entries(zones)
        .sort(([, one], [, other]) => other.requests - one.requests)
        .slice(0, 50)
        .map(([name, zone]) => [
            name,
            exact(zone.requests),
            exact(zone.processing),
            count(zone.responses["2xx"]),
            count(zone.responses["3xx"]),
            count(zone.responses["4xx"]),
            zone.responses["5xx"] ? el("span", { class: "bad" }, count(zone.responses["5xx"])) : "0",
            bytes(zone.sent),
        ]);
    const columns = [
        { label: "Server", kind: "wide" },
        { label: "Requests", kind: "number" },
        { label: "Active", kind: "number" },
        { label: "2xx", kind: "number" },
        { label: "3xx", kind: "number minor" },
        { label: "4xx", kind: "number" },
        { label: "5xx", kind: "number" },
        { label: "Sent", kind: "number" },
    ];
    table(byId("servers"), "Servers", columns, rows, "No data from servers yet.");
}
