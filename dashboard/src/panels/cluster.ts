// Nodes of the cluster, the state that they exchange, and purges that some of them have not confirmed.

import { get } from "../api";
import type { Cluster, Member } from "../contract";
import { byId, el, fill, write } from "../dom";
import { exact, many, NONE, span } from "../format";
import { stateOf } from "./origins";
import { table } from "./table";

/** Maximum number of nodes that a purge waits for, by name. */
const MOST_NAMES = 3;
/** Maximum length of the description of a purge. */
const MOST_TEXT = 80;

const COLUMNS = [
    { label: "Node", kind: "wide" },
    { label: "State" },
    { label: "Position", kind: "number" },
    { label: "Seen", kind: "number" },
];

const EXCHANGE_COLUMNS = [
    { label: "Exchange", kind: "wide" },
    { label: "State" },
    { label: "Received", kind: "number" },
    { label: "Sent", kind: "number" },
];

/** Requests the status of the cluster, and shows it. The panel is hidden if the server belongs to no cluster. */
export async function cluster(): Promise<void> {
    const told = await get<Cluster>("cluster", {});
    byId("panel-cluster").hidden = !told.cluster;
    if (!told.cluster) return;
    const own: Member = { node: told.node, address: "this node", state: told.state, position: told.position, seen_ms_ago: 0 };
    const rows = [own, ...told.members].map((member) => [
        el("span", { class: "two" }, member.node, el("small", {}, member.address)),
        stateOf(member.state.replace("_", " "), ["connected", "active"], ["disconnected", "silent", "wrong secret", "name taken"]),
        member.position ?? NONE,
        member === own ? NONE : `${span(member.seen_ms_ago)} ago`,
    ]);
    table(byId("cluster"), `Nodes of the cluster ${told.cluster}`, COLUMNS, rows, "No nodes.");
    table(byId("cluster-exchange"), "State that the nodes exchange", EXCHANGE_COLUMNS, exchanges(told), "Nothing is exchanged.");
    write(byId("cluster-purges"), purges(told));
    fill(byId("cluster-problems"), [
        told.partition && el("li", {}, `Partition: ${told.partition}.`),
        told.server?.warning && el("li", {}, `Warning: ${told.server.warning}.`),
    ]);
}

/** Explanations of the states of an exchange. */
const STATES: Record<string, string> = {
    waiting: "purges wait for the connection to Valkey",
    suspended: "purges of other nodes may be missing",
    unavailable: "Valkey is not reachable or refuses the commands",
    local: "Valkey is not reachable or refuses the commands: this node acts alone",
};

/** Returns a row for each kind of state that the nodes exchange. */
function exchanges(told: Cluster): (Node | string)[][] {
    const purges = told.state === "connected" ? "active" : "waiting";
    const rows: [string, string, string, string | null][] = [
        ["Purges", purges, "purges_received", "purges_sent"],
        ["Pages", told.pages, "pages_used", "pages_stored"],
        ["Limits", told.limits, "limits_received", "limits_sent"],
        ["TLS session keys", told.ticket_keys, "ticket_keys_read", null],
        ["Certificates", told.certificates, "certificates_taken", "certificates_stored"],
    ];
    const counted = (name: string | null): string => (name === null ? NONE : exact(told.counters[name] ?? 0));
    return rows.map(([name, state, received, sent]) => [
        el("span", { class: "two" }, name, el("small", {}, STATES[state] ?? "")),
        state === "off" ? state : stateOf(state, ["active", "shared"], Object.keys(STATES)),
        state === "off" ? NONE : counted(received),
        state === "off" ? NONE : counted(sent),
    ]);
}

/** Describes the purges that some nodes have not confirmed, and problems of this node. */
function purges(told: Cluster): string {
    const sentences: string[] = [];
    const oldest = told.unconfirmed[0];
    if (oldest) {
        // Without missing nodes, the purge is confirmed once it is saved on this node.
        const missing = oldest.missing.slice(0, MOST_NAMES).join(", ") || "not saved yet";
        const names = oldest.record === null ? "not sent yet" : missing;
        const more = oldest.record !== null && oldest.missing.length > MOST_NAMES ? ", …" : "";
        sentences.push(`${many(told.unconfirmed_count, "purge")} not confirmed by all, for ${span(oldest.age_ms)}: ${names}${more}. The oldest: ${oldest.soft ? "soft " : ""}${shortened(oldest.what || oldest.kind)}.`);
    }
    if (!told.nodes_known) sentences.push("The other nodes are not known, because this node has not read their list from Valkey.");
    if (!told.serves_stored_pages) sentences.push("Stored pages that may have missed a purge are stale.");
    return sentences.join(" ");
}

function shortened(text: string): string {
    return text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text;
}
