// Elements. Text goes into the page by text nodes alone: what a visitor wrote is never read as markup.

export type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: Event) => void)>;

/** Makes an element: `on…` are listeners, all else are attributes; a false or missing value leaves one out. */
export function el<K extends keyof HTMLElementTagNameMap>(
    name: K,
    attributes: Attributes = {},
    ...children: Child[]
): HTMLElementTagNameMap[K] {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
        if (typeof value === "function") node.addEventListener(key.slice(2), value);
        else if (value !== false && value != null) node.setAttribute(key, value === true ? "" : String(value));
    }
    node.append(...children.filter((child): child is Node | string => child != null && child !== false));
    return node;
}

/** The element of the page with this id. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
    const node = document.getElementById(id);
    if (!node) throw new Error(`the page has no #${id}`);
    return node as T;
}

/** Writes a text, if it is another one. */
export function write(node: Node, text: string): void {
    if (node.textContent !== text) node.textContent = text;
}

/** Fills a list of children, without touching the page where nothing has changed. */
export function fill(parent: Element, children: Child[]): void {
    parent.replaceChildren(...children.filter((child): child is Node | string => child != null && child !== false));
}

/** A custom property that the style sheet reads: shares of bars. */
export function share(node: HTMLElement, value: number): void {
    node.style.setProperty("--share", String(Math.max(0, Math.min(1, value || 0))));
}
