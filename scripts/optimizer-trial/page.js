// Functions that describe a loaded page, for captures.py.
({
    // Elements, attributes and texts, a line for each. Attributes that the optimizer adds, and elements that it replaces, are left out.
    // White space is one space, except in elements that show it, and nothing in the head.
    dom() {
        const LEFT_OUT = new Set(["SCRIPT", "STYLE", "LINK"]);
        const KEPT = new Set(["PRE", "TEXTAREA"]);
        const ADDED = new Set(["loading", "decoding", "fetchpriority"]);
        const SIZES = new Set(["width", "height"]);
        const lines = [];
        let text = "", is_head = false;
        const flush = (is_kept) => {
            const collapsed = is_kept ? text : text.replace(/[ \t\n\r\f]+/g, " ");
            const shown = is_head ? collapsed.trim() : collapsed;
            if (shown) lines.push(JSON.stringify(shown));
            text = "";
        };
        const walk = (parent, is_kept) => {
            for (const node of parent.childNodes) {
                if (node.nodeType === Node.TEXT_NODE) {
                    text += node.data;
                } else if (node.nodeType === Node.COMMENT_NODE) {
                    flush(is_kept);
                    lines.push(`<!--${node.data.replace(/\s+/g, " ")}-->`);
                } else if (node.nodeType === Node.ELEMENT_NODE && !LEFT_OUT.has(node.tagName)) {
                    flush(is_kept);
                    is_head = node.tagName === "HEAD" || is_head && node.tagName !== "BODY";
                    const names = node.getAttributeNames().filter((name) => !ADDED.has(name) && !(SIZES.has(name) && node.tagName === "IMG")).sort();
                    lines.push(`<${[node.tagName.toLowerCase(), ...names.map((name) => `${name}=${JSON.stringify(node.getAttribute(name))}`)].join(" ")}>`);
                    walk(node instanceof HTMLTemplateElement ? node.content : node, is_kept || KEPT.has(node.tagName));
                    flush(is_kept || KEPT.has(node.tagName));
                    lines.push(`</${node.tagName.toLowerCase()}>`);
                }
            }
        };
        walk(document, false);
        return lines;
    },
    // Rules of all style sheets in their order, with absolute addresses: equal for combined style sheets.
    rules() {
        const lines = [];
        // Values with var() and unknown media features are kept as they are written: white space next to commas and operators, after
        // colons, and within parentheses means nothing there, except in strings and custom properties.
        const SPACES = /("(?:[^"\\]|\\.)*"|--[\w-]+:[^;}]*)|\s*([,*\/])\s*|([:(])\s+|\s+(\))/g;
        const ADDRESS = /url\("([^"]*)"\)/g;
        const normalised = (text, base) => text
            .replace(ADDRESS, (all, url) => (url.startsWith("data:") || url.startsWith("#") ? all : `url("${new URL(url, base)}")`))
            .replace(SPACES, (all, ...parts) => parts.slice(0, 4).find(Boolean));
        const read = (sheet, media) => {
            const base = sheet.href || document.baseURI;
            let rules = [];
            try {
                rules = sheet.cssRules;
            } catch (error) {
                lines.push(`${media} of another site: ${base}`.trim());
            }
            for (const rule of rules) {
                if (rule instanceof CSSImportRule) {
                    if (rule.styleSheet) read(rule.styleSheet, `${media} ${rule.media.mediaText}`.trim());
                } else {
                    lines.push(`${media} ${normalised(rule.cssText, base)}`.trim());
                }
            }
        };
        for (const sheet of document.styleSheets) {
            // The same as no media.
            const media = sheet.media.mediaText === "all" ? "" : sheet.media.mediaText;
            if (!sheet.disabled) read(sheet, media);
        }
        return lines;
    },
    // Addresses of resources that the browser waited for before it painted.
    blocking() {
        return performance.getEntriesByType("resource").filter((entry) => entry.renderBlockingStatus === "blocking").map((entry) => entry.name);
    },
    // Shows every part of the page once, so that images that load late are loaded; returns when all images are, or after five seconds.
    async scroll() {
        const frame = () => new Promise((done) => requestAnimationFrame(done));
        for (let top = 0; top < document.documentElement.scrollHeight && top < 20000; top += innerHeight) {
            window.scrollTo(0, top);
            await frame();
            await frame();
        }
        window.scrollTo(0, 0);
        await frame();
        const end = performance.now() + 5000;
        while (performance.now() < end && [...document.images].some((image) => image.getClientRects().length && !image.complete)) await frame();
        await document.fonts.ready;
    },
})
