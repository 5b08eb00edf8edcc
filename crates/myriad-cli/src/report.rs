//! Messages for users, which are written to the error log, and to standard error until the log is used.

use myriad_conf::{Diagnostic, ParsedConfiguration, Severity};
use myriad_log::{ErrorLog, LogLevel, escaped};

/// Message with its severity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFinding {
    /// Severity of the message.
    pub level: LogLevel,
    /// Sentence, which may be followed by lines that show the position.
    pub text: String,
}

impl ConfigFinding {
    /// Converts diagnostics to messages with the text and the position. A label such as `error:` at the start of a text
    /// is left out, because the severity is printed separately.
    pub fn of<'d>(
        parsed: &ParsedConfiguration,
        diagnostics: impl IntoIterator<Item = &'d Diagnostic>,
    ) -> Vec<Self> {
        let finding = |found: &Diagnostic| {
            let (level, label) = match found.severity {
                Severity::Error => (LogLevel::Emerg, "error: "),
                Severity::Warning => (LogLevel::Warn, "warning: "),
                Severity::Hint => (LogLevel::Notice, "hint: "),
            };
            let text = myriad_conf::render(parsed, found);
            Self { level, text: text.strip_prefix(label).unwrap_or(&text).trim_end().to_owned() }
        };
        diagnostics.into_iter().map(finding).collect()
    }

    /// Writes the finding to standard error only.
    pub fn print(&self) {
        print_message(self.level, &self.text);
    }
}

/// Creates an error that prevents the server from starting.
impl From<String> for ConfigFinding {
    fn from(text: String) -> Self {
        Self { level: LogLevel::Emerg, text }
    }
}

/// Writes each line of a message to the log. If `aloud`, warnings and errors are also written to standard error in
/// nginx's format, unless the log itself writes them there.
pub fn report(log: &ErrorLog, level: LogLevel, message: &str, aloud: bool) {
    for line in message.lines() {
        log.write(level, None, format_args!("{line}"));
    }
    if aloud && level <= LogLevel::Warn && !log.reaches_stderr(level) {
        print_message(level, message);
    }
}

/// Writes a message to standard error only. Control characters other than line breaks are escaped.
pub fn print_message(level: LogLevel, message: &str) {
    let lines: Vec<_> = message.lines().map(escaped).collect();
    eprintln!("myriad: [{}] {}", level.name(), lines.join("\n"));
}
