//! Suggestions for unknown options: the most similar known ones.

use super::usage::{COMMANDS, LONG};

/// Returns a message about an unknown option, with the most similar known one.
pub fn invalid<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    told(word, myriad_conf::nearest(word, known))
}

/// Returns the message of [`invalid`] for a first word, which may be a command of init scripts or of another server.
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
