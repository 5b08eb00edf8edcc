//! Suppression of repeated error log messages: the first ones are written, the others are counted.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use myriad_conf::settings::LogLevel;
use parking_lot::Mutex;

/// Interval in milliseconds, from the first occurrence, in which equal messages count as repetitions.
pub(crate) const INTERVAL_MS: u64 = 10_000;
/// Maximum number of equal messages that are written per interval: more than tools such as fail2ban need (5 by
/// default).
pub(crate) const WRITTEN: u64 = 10;
/// Maximum number of recent messages that are stored per sink (log file, syslog server or standard error). A new
/// message replaces the least frequent one; the number of suppressed lines of the replaced message is then written.
const MOST_MESSAGES: usize = 16;
/// Maximum length, in bytes, of a message with its request context whose repetitions are suppressed. Longer messages
/// are always written.
const LONGEST: usize = 1024;

/// Hasher for error log messages, shared by all sinks.
static STATE: OnceLock<RandomState> = OnceLock::new();

/// Recent messages of a sink (log file, syslog server or standard error), by which repetitions are suppressed. Messages
/// count as equal if they have the same level, line format, text and request context.
#[derive(Debug, Default)]
pub(crate) struct RepeatedMessages {
    messages: Mutex<Vec<RecentMessage>>,
}

#[derive(Debug)]
struct RecentMessage {
    /// Hash of the message's level, line format and text, for a fast comparison.
    hash: u64,
    /// Time of the first occurrence of the message in the current interval, in milliseconds since the Unix epoch.
    began_ms: u64,
    /// Number of occurrences of the message in the current interval, written or suppressed.
    count: u64,
    suppressed: SuppressedMessage,
}

/// Message with the number of its repetitions that were suppressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SuppressedMessage {
    pub(crate) level: LogLevel,
    /// Text of the message, followed by the request context.
    pub(crate) text: String,
    /// Byte offset of the request context in `text`.
    pub(crate) context: usize,
    /// True if the message was written as JSON.
    pub(crate) is_json: bool,
    /// Number of suppressed lines with this message.
    pub(crate) lines: u64,
}

impl RepeatedMessages {
    /// Creates an empty list of recent messages.
    pub(crate) const fn new() -> Self {
        Self { messages: Mutex::new(Vec::new()) }
    }

    /// Records a message at `now_ms`. Returns true if the message must be written, and the suppressed messages to
    /// report before it. `context` is the byte offset of the request context in `text`. Debug messages and those longer
    /// than [`LONGEST`] are always written, and not recorded.
    pub(crate) fn admit(
        &self,
        level: LogLevel,
        (text, context): (&str, usize),
        is_json: bool,
        now_ms: u64,
    ) -> (bool, Vec<SuppressedMessage>) {
        if level == LogLevel::Debug || text.len() > LONGEST {
            return (true, Vec::new());
        }
        let hash = STATE.get_or_init(RandomState::new).hash_one((level as u8, is_json, text));
        let mut messages = self.messages.lock();
        let mut due = take_due(&mut messages, now_ms);
        let same = |message: &&mut RecentMessage| message.hash == hash && message.suppressed.text == text;
        if let Some(message) = messages.iter_mut().find(same) {
            message.count += 1;
            let is_written = message.count <= WRITTEN;
            message.suppressed.lines += u64::from(!is_written);
            return (is_written, due);
        }
        if messages.len() == MOST_MESSAGES {
            let counts = messages.iter().enumerate().map(|(at, message)| (message.count, at));
            let rarest = counts.min().map_or(0, |(_, at)| at);
            let held = messages.remove(rarest).suppressed;
            due.extend((held.lines > 0).then_some(held));
        }
        let held = SuppressedMessage { level, text: text.to_owned(), context, is_json, lines: 0 };
        messages.push(RecentMessage { hash, began_ms: now_ms, count: 1, suppressed: held });
        (true, due)
    }

    /// Removes and returns the suppressed messages whose interval is over at `now_ms`.
    pub(crate) fn due(&self, now_ms: u64) -> Vec<SuppressedMessage> {
        take_due(&mut self.messages.lock(), now_ms)
    }
}

/// Removes the messages whose interval is over, and returns those with suppressed repetitions. `messages` must be
/// sorted by the start of their interval, the oldest first.
fn take_due(messages: &mut Vec<RecentMessage>, now_ms: u64) -> Vec<SuppressedMessage> {
    // If the clock was set back, all intervals count as over.
    let is_over = |message: &RecentMessage| {
        now_ms < message.began_ms || now_ms.saturating_sub(message.began_ms) >= INTERVAL_MS
    };
    let over = messages.iter().take_while(|message| is_over(message)).count();
    messages.drain(..over).map(|message| message.suppressed).filter(|held| held.lines > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(repeats: &RepeatedMessages, text: &str, now_ms: u64) -> (bool, Vec<u64>) {
        let (written, due) = repeats.admit(LogLevel::Error, (text, text.len()), false, now_ms);
        (written, due.iter().map(|held| held.lines).collect())
    }

    #[test]
    fn the_first_are_written_and_the_rest_counted_until_the_time_is_over() {
        let repeats = RepeatedMessages::default();
        let written = (0..1244).filter(|_| admit(&repeats, "the same", 5000).0).count();
        assert_eq!(written, 10);
        assert!(repeats.due(14_999).is_empty());
        let due = repeats.due(15_000);
        assert_eq!((due.len(), due[0].lines, due[0].text.as_str()), (1, 1234, "the same"));
        assert_eq!(admit(&repeats, "the same", 15_001), (true, vec![]));
    }

    #[test]
    fn ongoing_repetition_is_reported_between_its_lines() {
        let repeats = RepeatedMessages::default();
        (0..12).for_each(|_| drop(admit(&repeats, "the same", 5000)));
        assert_eq!(admit(&repeats, "the same", 15_000), (true, vec![2]));
    }

    #[test]
    fn nothing_is_lost_of_different_messages_however_many() {
        let repeats = RepeatedMessages::default();
        let mut random = fastrand::Rng::with_seed(7);
        let (mut came, mut told) = (0_u64, 0_u64);
        for step in 0..100_000 {
            let text = format!("message {}", random.u32(..40));
            came += 1;
            let (written, due) = admit(&repeats, &text, step / 3);
            told += u64::from(written) + due.iter().sum::<u64>();
            assert!(repeats.messages.lock().len() <= MOST_MESSAGES);
        }
        told += repeats.due(u64::MAX).iter().map(|held| held.lines).sum::<u64>();
        assert_eq!(came, told);
    }

    #[test]
    fn levels_and_long_messages_are_separate_and_debug_is_not_limited() {
        let repeats = RepeatedMessages::default();
        let all = |level, text: &str| (0..20).filter(|_| repeats.admit(level, (text, 0), false, 1).0).count();
        assert_eq!(all(LogLevel::Error, "x"), 10);
        assert_eq!(all(LogLevel::Warn, "x"), 10);
        assert_eq!(all(LogLevel::Debug, "x"), 20);
        assert_eq!(all(LogLevel::Error, &"x".repeat(2000)), 20);
    }

    #[test]
    fn a_clock_set_back_does_not_silence_a_message_for_long() {
        let repeats = RepeatedMessages::default();
        (0..11).for_each(|_| drop(admit(&repeats, "x", 1_000_000)));
        assert_eq!(admit(&repeats, "x", 5), (true, vec![1]));
    }
}
