//! Messages for people: to the error log, and to standard error while nobody reads the log yet.

use myriad_serve::error_log::{ErrorLog, Level};

/// Writes a message, each of its lines as one of the log; with `aloud` also to standard error, as nginx words it.
pub(crate) fn report(log: &ErrorLog, level: Level, message: &str, aloud: bool) {
    for line in message.lines() {
        log.write(level, None, format_args!("{line}"));
    }
    if aloud && level <= Level::Warn && !log.reaches_stderr(level) {
        say(level, message);
    }
}

/// To standard error only.
pub(crate) fn say(level: Level, message: &str) {
    eprintln!("myriad: [{}] {message}", level.name());
}
