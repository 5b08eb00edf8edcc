//! Words that are no options, and the known ones that they may have been meant as.

use super::usage::{COMMANDS, LONG};

/// A word that is no option, and the known one that it is nearest to.
pub(crate) fn invalid<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    told(word, myriad_conf::nearest(word, known))
}

/// As [`invalid`], for a first word: it may be one of those that init scripts and other servers' programs take.
pub(super) fn invalid_first(word: &str) -> String {
    match word {
        "stop" => told(word, Some("-s stop")),
        "quit" => told(word, Some("-s quit")),
        "reopen" => told(word, Some("-s reopen")),
        "reload" => told(word, Some("-s reload")),
        "configtest" | "test" => told(word, Some("-t")),
        "version" => told(word, Some("--version")),
        "help" => told(word, Some("--help")),
        _ => invalid(word, COMMANDS.into_iter().chain(LONG)),
    }
}

fn told(word: &str, near: Option<&str>) -> String {
    match near {
        Some(near) => format!("invalid option: \"{word}\", did you mean \"{near}\"?"),
        None => format!("invalid option: \"{word}\""),
    }
}
