// Fields of the server's API that the page reads. Unknown figures are null.

export type Known = number | null;

/** Names of the counts by `$upstream_cache_status`. */
export const STATUSES = ["hit", "miss", "expired", "stale", "updating", "revalidated", "bypass"] as const;
export type Status = (typeof STATUSES)[number];

export type Counts = Record<
    Status | "requests" | "bytes" | "fetches" | "accepted" | "uncached" | "status_4xx" | "status_5xx",
    number
>;

/** Milliseconds. */
export type Times = { count: number; p50: number; p90: number; p99: number; max: number } | null;

export interface Origin {
    block: string;
    group: string;
    server: string;
    address: string;
    state: string;
    active: number;
    requests: number;
    failures: number;
    children?: Known;
    children_idle?: Known;
    listen_queue?: Known;
}

export interface Queue {
    name: string;
    asking: number;
    waiting: number;
    limit: Known;
}

export interface Zone {
    zone: string;
    memory: { pages: number; bytes: number; limit_bytes: Known };
    disk: { pages: number; bytes: number; limit_bytes: Known } | null;
    requests: Record<Status, number>;
    fetching: number;
    stored: number;
    purged: number;
    encodings: { coding: string; pages: number; bytes: number }[];
    encodings_at_ms: Known;
}

export interface Tick {
    at_ms: number;
    interval_ms: number;
    started_ms: number;
    reloads: number;
    readers: number;
    total: Counts;
    delta: Counts;
    first_byte: { all: Times; hit: Times; miss: Times; other: Times };
    connections: { active: number; reading: number; writing: number; waiting: number };
    origins: Origin[];
    queues: Queue[];
    zones: Zone[];
    workers: { worker: number; requests: number; active: number }[];
}

export interface Purge {
    at_ms: number;
    zone: string;
    kind: string;
    what: string;
    soft: boolean;
    by: string;
    pages: Known;
    at_least?: boolean;
    number: number;
}

/** Finding of the leak guard. */
export interface Leak {
    at_ms: number;
    zone: string;
    page: string;
    what: string;
    difference: string;
    state: string;
    until_ms: number;
    count: number;
    now_ms: number;
}

/** Another node of the cluster. */
export interface Member {
    node: string;
    address: string;
    state: string;
    position: string | null;
    seen_ms_ago: number;
}

/** Status of the cluster; `cluster` is empty if the server belongs to none. */
export interface Cluster {
    cluster: string;
    node: string;
    state: string;
    serves_stored_pages: boolean;
    behind_ms: Known;
    partition: string | null;
    server: { url: string; maxmemory: Known; maxmemory_policy: string | null; warning: string | null } | null;
    position: string | null;
    members: Member[];
    nodes_known: boolean;
    unconfirmed: { zone: string; kind: string; what: string; soft: boolean; age_ms: number; record: string | null; missing: string[] }[];
    unconfirmed_count: number;
    pages: string;
    ticket_keys: string;
    certificates: string;
    limits: string;
    counters: Record<string, number>;
}

export interface History {
    step_s: number;
    from_ms: number;
    to_ms: number;
    points: number;
    kept?: boolean;
    at_ms: number[];
    series: Record<string, Known[]>;
}

export interface TopPage {
    url: string;
    count: number;
    over: number;
    requests: Known;
    misses: Known;
    bytes: Known;
    slowest_ms: Known;
    mean_ms: Known;
    status: Known;
    last_ms: Known;
    cache: string | null;
    reason: string | null;
    reasons?: { reason: string; count: number }[];
}

export interface Tops {
    by: string;
    since_ms: number;
    to_ms: number;
    pages: TopPage[];
}

export interface StoredPage {
    zone: string;
    key: string;
    variant: string | null;
    status: number;
    media_type: string;
    now_ms: number;
    stored_ms: number;
    fresh_until_ms: number;
    hits: number;
    tags: string[];
    tier: string;
    bytes: number;
    encodings: { coding: string; bytes: number }[];
}

export interface Inspection {
    url: string;
    method: string;
    server: string | null;
    location: string | null;
    zone: string | null;
    key: string | null;
    read: string | null;
    store: string | null;
    lines: { topic: string; text: string; outcome: string; at: string | null }[];
    stored: StoredPage[];
}

/** NGINX Plus's `http/server_zones`. */
export type ServerZones = Record<
    string,
    {
        processing: number;
        requests: number;
        responses: Record<"1xx" | "2xx" | "3xx" | "4xx" | "5xx" | "total", number>;
        discarded: number;
        received: number;
        sent: number;
    }
>;
