//! How much a line of the error log matters.

use myriad_conf::settings::LogLevel;

/// Severity of a line, most severe first, with the names of nginx's `error_log` directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The server cannot run.
    Emerg,
    /// Something that must never happen did.
    Alert,
    /// A resource of the whole server failed.
    Crit,
    /// One request failed; nginx's default threshold.
    Error,
    /// Suspicious but served.
    Warn,
    /// Life of the processes.
    Notice,
    /// Ordinary events, such as a client that hung up.
    Info,
    /// For whoever debugs the server.
    Debug,
}

impl Level {
    /// The word between brackets, as nginx writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Emerg => "emerg",
            Self::Alert => "alert",
            Self::Crit => "crit",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Notice => "notice",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }

    /// The level of that name; nginx's `debug_core`, `debug_http` and so on all mean [`Level::Debug`].
    pub fn parse(name: &str) -> Option<Self> {
        let all = [
            Self::Emerg,
            Self::Alert,
            Self::Crit,
            Self::Error,
            Self::Warn,
            Self::Notice,
            Self::Info,
            Self::Debug,
        ];
        if name.starts_with("debug_") {
            return Some(Self::Debug);
        }
        all.into_iter().find(|level| level.name() == name)
    }
}

/// The level that an `error_log` directive names.
impl From<LogLevel> for Level {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Emerg => Self::Emerg,
            LogLevel::Alert => Self::Alert,
            LogLevel::Crit => Self::Crit,
            LogLevel::Error => Self::Error,
            LogLevel::Warn => Self::Warn,
            LogLevel::Notice => Self::Notice,
            LogLevel::Info => Self::Info,
            LogLevel::Debug => Self::Debug,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_named_as_the_directive_names_them() {
        assert_eq!(Level::parse("warn"), Some(Level::Warn));
        assert_eq!(Level::parse("debug_http"), Some(Level::Debug));
        assert_eq!(Level::parse("loud"), None);
        assert!(Level::Emerg < Level::Debug);
    }

    const ALL: [Level; 8] = [
        Level::Emerg,
        Level::Alert,
        Level::Crit,
        Level::Error,
        Level::Warn,
        Level::Notice,
        Level::Info,
        Level::Debug,
    ];

    #[test]
    fn levels_come_back_from_their_names() {
        assert_eq!(ALL.map(|level| Level::parse(level.name())), ALL.map(Some));
    }

    #[test]
    fn levels_are_numbered_as_severities_of_syslog() {
        assert!(ALL.is_sorted());
        assert_eq!(ALL.map(|level| level as u8), [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
