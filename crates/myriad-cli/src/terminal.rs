//! Properties of the terminal that a command writes to.

use std::io::IsTerminal;

/// Number of columns if neither the terminal nor the environment provides it.
const USUAL: usize = 80;

/// Returns the number of columns of the terminal, otherwise the environment variable `COLUMNS`, otherwise 80; at least
/// 40 and at most 400.
pub fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    let from_environment = || std::env::var("COLUMNS").ok()?.parse().ok();
    size.filter(|columns| *columns > 0).or_else(from_environment).unwrap_or(USUAL).clamp(40, 400)
}

/// Returns whether a person uses the command: standard input and output are a terminal.
pub fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Returns whether colors may be used: standard output is a terminal, `TERM` is not `dumb`, and `NO_COLOR`
/// (no-color.org) is not set or empty.
pub fn has_colors() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal()
        && !is_set("NO_COLOR")
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Returns whether the locale is UTF-8 (`LC_ALL`, else `LC_CTYPE`, else `LANG`). The result also applies to output in a
/// pipe.
pub fn has_unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    locale.is_some_and(|value| {
        let value = value.to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}
