//! Messages for people: to the error log, and to standard error while nobody reads the log yet.

use myriad_conf::{Diagnostic, Parsed, Severity};
use myriad_log::{ErrorLog, Level, escaped};

/// Message with its own level: a warning beside an error stays a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) level: Level,
    /// Sentence, sometimes with lines below it that show the place.
    pub(crate) text: String,
}

impl Finding {
    /// Findings of diagnostics: rendered without their label, since the level says the same.
    pub(crate) fn of<'d>(
        parsed: &Parsed,
        diagnostics: impl IntoIterator<Item = &'d Diagnostic>,
    ) -> Vec<Self> {
        let finding = |found: &Diagnostic| {
            let (level, label) = match found.severity {
                Severity::Error => (Level::Emerg, "error: "),
                Severity::Warning => (Level::Warn, "warning: "),
                Severity::Hint => (Level::Notice, "hint: "),
            };
            let text = myriad_conf::render(parsed, found);
            Self { level, text: text.strip_prefix(label).unwrap_or(&text).trim_end().to_owned() }
        };
        diagnostics.into_iter().map(finding).collect()
    }

    /// Writes it to standard error only.
    pub(crate) fn say(&self) {
        say(self.level, &self.text);
    }
}

/// A sentence alone is an error that keeps the server from running.
impl From<String> for Finding {
    fn from(text: String) -> Self {
        Self { level: Level::Emerg, text }
    }
}

/// Writes a message, each of its lines as one of the log; with `aloud` also to standard error, as nginx words it.
pub(crate) fn report(log: &ErrorLog, level: Level, message: &str, aloud: bool) {
    for line in message.lines() {
        log.write(level, None, format_args!("{line}"));
    }
    if aloud && level <= Level::Warn && !log.reaches_stderr(level) {
        say(level, message);
    }
}

/// Writes to standard error only. Lines stay lines; control characters in them are escaped.
pub(crate) fn say(level: Level, message: &str) {
    let lines: Vec<_> = message.lines().map(escaped).collect();
    eprintln!("myriad: [{}] {}", level.name(), lines.join("\n"));
}
