// Elements. Text is only inserted as text nodes, so that data from visitors is never parsed as markup.

export type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: Event) => void)>;

/** Creates an element: `on…` are listeners, other names are attributes; false and missing values are omitted. */
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

/** Returns the element of the page with this id. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
    const node = document.getElementById(id);
    if (!node) throw new Error(`the page has no #${id}`);
    return node as T;
}

/** Sets the text, unless it is unchanged. */
export function write(node: Node, text: string): void {
    if (node.textContent !== text) node.textContent = text;
}

/** Replaces the children of an element, without null and false. */
export function fill(parent: Element, children: Child[]): void {
    parent.replaceChildren(...children.filter((child): child is Node | string => child != null && child !== false));
}

/** Sets a custom property of the style sheet: the share of a bar. */
export function share(node: HTMLElement, value: number): void {
    node.style.setProperty("--share", String(Math.max(0, Math.min(1, value || 0))));
}
