//! Limit for repeated messages of a cluster.

use std::collections::HashMap;

use myriad_log::{ErrorLog, LogLevel};

/// Minimum time between two equal messages, in milliseconds.
const INTERVAL_MS: u64 = 60_000;
/// Maximum number of different messages that are remembered. If it is reached, all are forgotten.
const MAX_MESSAGES: usize = 256;

/// Writes each message at most once per minute, with the number of suppressed repetitions.
#[derive(Default)]
pub(super) struct LogLimiter {
    /// Time of the last line and number of suppressed repetitions since then, by text without digits.
    last: HashMap<String, (u64, u64)>,
}

impl LogLimiter {
    /// Writes a message, or counts it as suppressed. Messages that differ only in digits are equal. `now` is a time in
    /// milliseconds.
    pub(super) fn write(&mut self, log: &ErrorLog, level: LogLevel, message: &str, now: u64) {
        if let Some(line) = self.line(message, now) {
            log.write(level, None, format_args!("cluster: {line}"));
        }
    }

    fn line(&mut self, message: &str, now: u64) -> Option<String> {
        let key: String = message.chars().filter(|char| !char.is_ascii_digit()).collect();
        if self.last.len() >= MAX_MESSAGES && !self.last.contains_key(&key) {
            self.last.clear();
        }
        match self.last.get_mut(&key) {
            Some((at, suppressed)) if now < *at + INTERVAL_MS => {
                *suppressed += 1;
                None
            }
            previous => {
                let suppressed = previous.map_or(0, |(_, suppressed)| *suppressed);
                self.last.insert(key, (now, 0));
                Some(if suppressed > 0 {
                    format!("{message} ({suppressed} similar messages suppressed)")
                } else {
                    message.to_owned()
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_messages_are_suppressed_and_counted() {
        let mut limiter = LogLimiter::default();
        assert_eq!(limiter.line("entry 1-1 ignored", 0).as_deref(), Some("entry 1-1 ignored"));
        assert_eq!(limiter.line("entry 1-2 ignored", 10), None);
        assert_eq!(limiter.line("another", 10).as_deref(), Some("another"));
        assert_eq!(
            limiter.line("entry 1-3 ignored", INTERVAL_MS).as_deref(),
            Some("entry 1-3 ignored (1 similar messages suppressed)")
        );
    }
}
