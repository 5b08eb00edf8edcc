//! Suggestions for unknown options: the most similar known ones.

use super::usage::{COMMANDS, LONG};

/// Returns the error for an unknown option, with the most similar one of `known` if there is a similar one.
pub fn invalid<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    invalid_option(word, myriad_conf::nearest(word, known))
}

/// Returns the error for an argument that is neither a known long option nor a group of one-letter options. It may be a
/// command of an init script or of another server.
pub(super) fn invalid_first(word: &str) -> String {
    match word {
        "stop" => invalid_option(word, Some("-s stop")),
        "quit" => invalid_option(word, Some("-s quit")),
        "reopen" => invalid_option(word, Some("-s reopen")),
        "reload" => invalid_option(word, Some("-s reload")),
        "configtest" | "test" => invalid_option(word, Some("-t")),
        "version" => invalid_option(word, Some("--version")),
        "help" => invalid_option(word, Some("--help")),
        _ => invalid(word, COMMANDS.into_iter().chain(LONG)),
    }
}

fn invalid_option(word: &str, near: Option<&str>) -> String {
    match near {
        Some(near) => format!("invalid option: \"{word}\", did you mean \"{near}\"?"),
        None => format!("invalid option: \"{word}\""),
    }
}
