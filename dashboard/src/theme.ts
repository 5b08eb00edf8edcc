// Theme: light, dark, or the system's.

import { byId } from "./dom";

const KEY = "myriad-theme";

/** Sets up the switch; `changed` is called when the colours change. */
export function theme(changed: () => void): void {
    const choice = byId<HTMLSelectElement>("theme");
    const apply = (): void => {
        const word = choice.value;
        if (word === "system") delete document.documentElement.dataset["theme"];
        else document.documentElement.dataset["theme"] = word;
        changed();
    };
    choice.value = kept() ?? "system";
    choice.addEventListener("change", () => {
        keep(choice.value);
        apply();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
    apply();
}

// Browsers can deny storage: then the choice applies to this page only.
function kept(): string | null {
    try {
        const word = localStorage.getItem(KEY);
        return word === "light" || word === "dark" ? word : null;
    } catch {
        return null;
    }
}

function keep(word: string): void {
    try {
        localStorage.setItem(KEY, word);
    } catch {
        // Storage is denied.
    }
}
