// Runs before the scripts of a page: the same random numbers and the same time for each load, and no timers of a second or more,
// which move slides.
{
    let state = 20260101;
    Math.random = () => {
        state = (state * 1103515245 + 12345) % 2147483648;
        return state / 2147483648;
    };
    const now = Date.now() - (Date.now() % 86400000);
    window.Date = new Proxy(Date, {
        construct: (original, values) => (values.length ? new original(...values) : new original(now)),
        apply: (original) => new original(now).toString(),
        get: (original, name) => (name === "now" ? () => now : original[name]),
    });
    for (const name of ["setTimeout", "setInterval"]) {
        const original = window[name];
        window[name] = (action, time, ...values) => (time >= 1000 ? 0 : original(action, time, ...values));
    }
}
