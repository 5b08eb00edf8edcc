// Requests to the server. The secret is only stored in memory: other pages of this origin cannot read it.

let secret = "";

export function setSecret(text: string): void {
    secret = text.trim();
}

/** Reads the secret from the link that `myriad wordpress status` prints, `#secret=…`, and removes it from the URL. */
export function takeSecret(): boolean {
    const text = /^#secret=(.+)$/.exec(location.hash)?.[1];
    if (!text) return false;
    setSecret(text);
    history.replaceState(null, "", location.pathname + location.search);
    return true;
}

export function hasSecret(): boolean {
    return secret !== "";
}

export function headers(): Record<string, string> {
    return secret ? { Authorization: `Bearer ${secret}` } : {};
}

/** Error response of the server. */
export class Refused extends Error {
    constructor(
        readonly status: number,
        why: string,
    ) {
        super(why);
    }

    /** Returns whether the server requires a secret, or a different one. */
    get needsSecret(): boolean {
        return this.status === 401 || (this.status === 403 && /secret/.test(this.message));
    }
}

let turn: Promise<unknown> = Promise.resolve();

/** Sends a GET request below the page's folder. Requests run one at a time, because the server rejects too many at once. */
export function get<T>(path: string, query: Record<string, string | number> = {}): Promise<T> {
    const words = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    const asked = turn.then(() => ask<T>(words.length ? `${path}?${words.join("&")}` : path, {}));
    turn = asked.catch(() => undefined);
    return asked;
}

/** Sends JSON to the location of `api write=on` below the page. */
export async function post<T>(path: string, body: unknown): Promise<T> {
    return ask<T>(path, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "Content-Type": "application/json" },
    });
}

async function ask<T>(path: string, options: RequestInit): Promise<T> {
    const answer = await fetch(path, {
        ...options,
        headers: { ...options.headers, ...headers() },
        cache: "no-store",
        credentials: "same-origin",
        redirect: "error",
    });
    if (!answer.ok) throw await refusal(answer);
    return (await answer.json()) as T;
}

/** Returns the error that a response describes. */
export async function refusal(answer: Response): Promise<Refused> {
    let why = `${answer.status} ${answer.statusText}`.trim();
    try {
        const told: unknown = await answer.json();
        const error = (told as { error?: unknown }).error;
        if (typeof error === "string") why = error;
    } catch {
        // The body is not JSON: the status is sufficient.
    }
    return new Refused(answer.status, why);
}
