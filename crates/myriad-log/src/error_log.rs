//! Error logs in nginx's line format or as JSON, with several targets that have separate levels.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use myriad_base::calendar::format_error_log_time;
use myriad_conf::settings::LogLevel;

use crate::escape::escaped;
use crate::json_line;
use crate::local_time;
use crate::log_file::LogFile;
use crate::repeats::{RepeatedMessages, SuppressedMessage};
use crate::syslog::Syslog;

/// Recent messages on standard error, for the suppression of repetitions.
static STDERR: RepeatedMessages = RepeatedMessages::new();

/// Destination of error log lines.
#[derive(Clone, Debug)]
pub enum LogSink {
    /// File, which several logs may share.
    File(Arc<LogFile>),
    /// Standard error stream of the process (`error_log stderr`).
    Stderr,
    /// Syslog server, which several logs may share.
    Syslog(Arc<Syslog>),
}

/// Compares destinations: they are equal if they use the same open file or the same syslog server, or if both are
/// standard error.
impl PartialEq for LogSink {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(file), Self::File(other)) => Arc::ptr_eq(file, other),
            (Self::Syslog(server), Self::Syslog(other)) => Arc::ptr_eq(server, other),
            (Self::Stderr, Self::Stderr) => true,
            _ => false,
        }
    }
}

impl Eq for LogSink {}

impl LogSink {
    fn repeats(&self) -> &RepeatedMessages {
        match self {
            Self::File(file) => &file.repeats,
            Self::Stderr => &STDERR,
            Self::Syslog(syslog) => &syslog.repeats,
        }
    }

    /// Writes a line with its line break. Errors are ignored, because no other log could report them.
    fn write(&self, level: LogLevel, line: &str) {
        match self {
            Self::File(file) => drop(file.append(line.as_bytes())),
            Self::Stderr => drop(io::stderr().write_all(line.as_bytes())),
            Self::Syslog(syslog) => syslog.send_error(level, line.as_bytes()),
        }
    }

    /// For each message with suppressed repetitions whose interval is over at `now_ms` (milliseconds since the Unix
    /// epoch), writes a line with the message and the number of repetitions.
    pub(crate) fn write_repeats(&self, now_ms: u64) {
        for held in self.repeats().due(now_ms) {
            self.write_suppressed(&held);
        }
    }

    fn write_suppressed(&self, held: &SuppressedMessage) {
        let now_s = now_ms() / 1000;
        let (message, context) = held.text.split_at_checked(held.context).unwrap_or((&held.text, ""));
        let line = if held.is_json {
            let repeated = Some(held.lines);
            json_line::line(
                &json_line::JsonLineHead { now_s, level: held.level, connection: None, repeated },
                message,
                context,
            )
        } else {
            let mut line = String::with_capacity(128);
            begin_line(&mut line, now_s, held.level, None);
            // The wording of syslog daemons, which tools recognize.
            let _ = write!(line, "message repeated {} times: [", held.lines);
            push_escaped(&mut line, &held.text);
            line.push_str("]\n");
            line
        };
        self.write(held.level, &line);
    }
}

/// Compiled `error_log` directive: a sink with its level and line format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorLogTarget {
    /// Destination of the lines.
    pub sink: LogSink,
    /// Least severe level whose messages are written; more severe messages are written, too.
    pub level: LogLevel,
    /// True to write lines as JSON (`format=json`).
    pub is_json: bool,
    /// True to write all repetitions of a message (`repeat=all`) instead of suppressing them after the first ones.
    pub repeats_all: bool,
}

impl ErrorLogTarget {
    /// Creates a target in nginx's line format that suppresses repetitions.
    pub fn new(sink: LogSink, level: LogLevel) -> Self {
        Self { sink, level, is_json: false, repeats_all: false }
    }
}

/// Error log of a configuration level, with any number of targets. Clones share the targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorLog {
    targets: Arc<[ErrorLogTarget]>,
    /// Least severe level that at least one target writes; `None` without targets.
    threshold: Option<LogLevel>,
}

/// Message, formatted once, that is written to the targets of an error log.
struct ErrorMessage {
    /// Time of the message, in milliseconds since the Unix epoch.
    now_ms: u64,
    level: LogLevel,
    /// Number of the client connection; `None` for a message without one.
    connection: Option<u64>,
    /// Message, followed by the request context.
    text: String,
    /// Byte offset of the request context in `text`.
    context: usize,
}

impl ErrorLog {
    /// Creates a log that writes each message to all targets whose level admits it.
    pub fn new(targets: Vec<ErrorLogTarget>) -> Self {
        let threshold = targets.iter().map(|target| target.level).max();
        Self { targets: targets.into(), threshold }
    }

    /// Creates a log that writes to standard error.
    pub fn stderr(level: LogLevel) -> Self {
        Self::new(vec![ErrorLogTarget::new(LogSink::Stderr, level)])
    }

    /// Returns true if any target accepts messages of this level. Costs one comparison, so callers test it before they
    /// format a message.
    pub fn enabled(&self, level: LogLevel) -> bool {
        self.threshold.is_some_and(|threshold| level <= threshold)
    }

    /// Returns true if the log has standard error as a target that accepts messages of this level.
    pub fn reaches_stderr(&self, level: LogLevel) -> bool {
        self.targets.iter().any(|target| matches!(target.sink, LogSink::Stderr) && level <= target.level)
    }

    /// Writes a line `date [level] pid#tid: *connection message`, or a JSON object with the same data, to each target
    /// whose level admits it, unless it is a suppressed repetition. `connection` is the serial number of the client
    /// connection. Errors are ignored, because no other log could report them.
    pub fn write(&self, level: LogLevel, connection: Option<u64>, message: fmt::Arguments<'_>) {
        self.write_with(level, connection, message, format_args!(""));
    }

    /// Writes a message like [`ErrorLog::write`], followed by nginx's request context (`, client: …`).
    pub fn write_with(
        &self,
        level: LogLevel,
        connection: Option<u64>,
        message: fmt::Arguments<'_>,
        context: fmt::Arguments<'_>,
    ) {
        if !self.enabled(level) {
            return;
        }
        let message = ErrorMessage::new(level, connection, message, context);
        for target in self.targets.iter().filter(|target| level <= target.level) {
            message.write_to(target);
        }
    }

    /// Writes a message like [`ErrorLog::write_with`], but to all targets regardless of their levels, and without
    /// suppressing repetitions (for `debug_connection`).
    pub fn write_everywhere(
        &self,
        level: LogLevel,
        connection: u64,
        message: fmt::Arguments<'_>,
        context: fmt::Arguments<'_>,
    ) {
        let message = ErrorMessage::new(level, Some(connection), message, context);
        for target in self.targets.iter() {
            target.sink.write(level, &message.line(target.is_json));
        }
    }
}

impl ErrorMessage {
    fn new(
        level: LogLevel,
        connection: Option<u64>,
        message: fmt::Arguments<'_>,
        context: fmt::Arguments<'_>,
    ) -> Self {
        let mut text = String::with_capacity(192);
        // Fails only if a `Display` implementation fails; then a part of the text is missing.
        let _ = text.write_fmt(message);
        let begin = text.len();
        let _ = text.write_fmt(context);
        Self { now_ms: now_ms(), level, connection, text, context: begin }
    }

    fn write_to(&self, target: &ErrorLogTarget) {
        if !target.repeats_all {
            let text_and_context = (self.text.as_str(), self.context);
            let (is_written, held) =
                target.sink.repeats().admit(self.level, text_and_context, target.is_json, self.now_ms);
            for held in &held {
                target.sink.write_suppressed(held);
            }
            if !is_written {
                return;
            }
        }
        target.sink.write(self.level, &self.line(target.is_json));
    }

    fn line(&self, is_json: bool) -> String {
        let now_s = self.now_ms / 1000;
        if is_json {
            let (message, context) = self.text.split_at(self.context);
            let head = json_line::JsonLineHead {
                now_s,
                level: self.level,
                connection: self.connection,
                repeated: None,
            };
            return json_line::line(&head, message, context);
        }
        let mut line = String::with_capacity(64 + self.text.len());
        begin_line(&mut line, now_s, self.level, self.connection);
        push_escaped(&mut line, &self.text);
        line.push('\n');
        line
    }
}

/// Returns the system time in milliseconds since the Unix epoch.
fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_millis() as u64)
}

fn begin_line(line: &mut String, now_s: u64, level: LogLevel, connection: Option<u64>) {
    let time = format_error_log_time(now_s, local_time::offset_minutes(now_s));
    let _ = write!(
        line,
        "{} [{}] {}#{}: ",
        String::from_utf8_lossy(&time),
        level.name(),
        std::process::id(),
        rustix::thread::gettid().as_raw_nonzero(),
    );
    if let Some(connection) = connection {
        let _ = write!(line, "*{connection} ");
    }
}

fn push_escaped(line: &mut String, message: &str) {
    match escaped(message) {
        Cow::Borrowed(same) => line.push_str(same),
        Cow::Owned(escaped) => line.push_str(&escaped),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::testing::LogTestFolder;

    fn temporary(name: &str) -> (PathBuf, OwnedFd) {
        let path = std::env::temp_dir().join(format!("myriad-error-log-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        (path.clone(), open(&path))
    }

    fn open(path: &Path) -> OwnedFd {
        std::fs::OpenOptions::new().create(true).append(true).open(path).expect("open").into()
    }

    #[test]
    fn lines_have_the_form_of_nginx() {
        let mut line = String::new();
        begin_line(&mut line, 20_778 * 86_400 + 3_723, LogLevel::Error, Some(7));
        let head = format!(" [error] {}#", std::process::id());
        assert!(line.starts_with("2026/11/2") && line[19..].starts_with(&head), "{line}");
        assert!(line.ends_with(": *7 "), "{line}");
    }

    #[test]
    fn each_target_applies_its_own_level() {
        let (loud_path, loud) = temporary("loud");
        let (quiet_path, quiet) = temporary("quiet");
        let log = ErrorLog::new(vec![
            ErrorLogTarget::new(
                LogSink::File(Arc::new(LogFile::new(loud_path.clone(), loud))),
                LogLevel::Info,
            ),
            ErrorLogTarget::new(
                LogSink::File(Arc::new(LogFile::new(quiet_path.clone(), quiet))),
                LogLevel::Error,
            ),
        ]);
        assert!(log.enabled(LogLevel::Info));
        assert!(!log.enabled(LogLevel::Debug));
        log.write(LogLevel::Info, None, format_args!("only in one"));
        log.write(LogLevel::Crit, None, format_args!("in both"));
        let loud = std::fs::read_to_string(&loud_path).expect("read");
        let quiet = std::fs::read_to_string(&quiet_path).expect("read");
        assert!(loud.contains("[info]") && loud.contains("only in one") && loud.contains("in both"));
        assert!(!quiet.contains("only in one") && quiet.contains("[crit]"), "{quiet}");
        let _ = (std::fs::remove_file(loud_path), std::fs::remove_file(quiet_path));
    }

    #[test]
    fn a_replaced_descriptor_takes_the_next_line() {
        let (path, descriptor) = temporary("moved");
        let file = Arc::new(LogFile::new(path.clone(), descriptor));
        let log =
            ErrorLog::new(vec![ErrorLogTarget::new(LogSink::File(Arc::clone(&file)), LogLevel::Notice)]);
        log.write(LogLevel::Notice, None, format_args!("before"));
        let moved = path.with_extension("1");
        std::fs::rename(&path, &moved).expect("rename");
        log.write(LogLevel::Notice, None, format_args!("still the old file"));
        file.replace(open(&path));
        log.write(LogLevel::Notice, None, format_args!("after"));
        assert!(std::fs::read_to_string(&moved).expect("old").ends_with("still the old file\n"));
        let new = std::fs::read_to_string(&path).expect("new");
        assert!(new.ends_with("after\n") && new.lines().count() == 1, "{new}");
        let _ = (std::fs::remove_file(path), std::fs::remove_file(moved));
    }

    #[test]
    fn a_message_cannot_forge_a_second_line() {
        let mut line = String::from("head: ");
        push_escaped(&mut line, "GET /\r\nx\u{1b}[2J é");
        assert_eq!(line, "head: GET /\\x0D\\x0Ax\\x1B[2J é");
    }

    fn log(targets: &[(&Arc<LogFile>, LogLevel)]) -> ErrorLog {
        let target = |(file, level): &(&Arc<LogFile>, LogLevel)| {
            ErrorLogTarget::new(LogSink::File(Arc::clone(file)), *level)
        };
        ErrorLog::new(targets.iter().map(target).collect())
    }

    #[test]
    fn a_level_is_enabled_where_any_target_takes_it() {
        let folder = LogTestFolder::new("enabled");
        let (one, other) = (folder.log("a"), folder.log("b"));
        let log = log(&[(&one, LogLevel::Error), (&other, LogLevel::Notice)]);
        assert!(log.enabled(LogLevel::Emerg) && log.enabled(LogLevel::Notice));
        assert!(!log.enabled(LogLevel::Info));
        assert!(!ErrorLog::new(Vec::new()).enabled(LogLevel::Emerg), "a log without targets is disabled");
    }

    #[test]
    fn a_connection_that_is_debugged_is_logged_whatever_the_level() {
        let folder = LogTestFolder::new("everywhere");
        let file = folder.log("a");
        let log = log(&[(&file, LogLevel::Emerg)]);
        log.write(LogLevel::Debug, Some(3), format_args!("left out"));
        log.write_everywhere(LogLevel::Debug, 3, format_args!("taken"), format_args!(""));
        let text = folder.read("a");
        assert!(text.contains(" [debug] ") && text.ends_with(": *3 taken\n"), "{text}");
        assert_eq!(text.lines().count(), 1);
    }

    #[test]
    fn a_line_of_no_connection_has_no_number() {
        let folder = LogTestFolder::new("unnumbered");
        let file = folder.log("a");
        log(&[(&file, LogLevel::Notice)]).write(LogLevel::Notice, None, format_args!("using {}", "epoll"));
        let text = folder.read("a");
        let thread = rustix::thread::gettid().as_raw_nonzero();
        let rest = format!(" [notice] {}#{thread}: using epoll\n", std::process::id());
        assert_eq!(&text[19..], rest);
    }

    #[test]
    fn lines_of_many_threads_are_whole() {
        let folder = LogTestFolder::new("threads");
        let file = folder.log("a");
        let log = log(&[(&file, LogLevel::Info)]);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let log = &log;
                scope.spawn(move || {
                    for number in 0..50 {
                        let message = format_args!("{thread} {number} {}", "x".repeat(500));
                        log.write(LogLevel::Info, Some(thread), message);
                    }
                });
            }
        });
        let text = folder.read("a");
        assert_eq!(text.lines().filter(|line| line.ends_with(&"x".repeat(500))).count(), 200);
        assert_eq!(text.lines().count(), 200);
    }

    #[test]
    fn only_standard_error_reaches_standard_error() {
        let folder = LogTestFolder::new("stderr");
        let file = folder.log("a");
        assert!(!log(&[(&file, LogLevel::Debug)]).reaches_stderr(LogLevel::Emerg));
        let log = ErrorLog::stderr(LogLevel::Warn);
        assert!(log.reaches_stderr(LogLevel::Warn) && !log.reaches_stderr(LogLevel::Notice));
    }

    #[test]
    fn a_target_that_cannot_be_written_to_does_not_keep_the_others_from_the_line() {
        let folder = LogTestFolder::new("broken");
        folder.open("a");
        let read_only = std::fs::File::open(folder.path("a")).expect("a file").into();
        let (broken, sound) = (Arc::new(LogFile::new(folder.path("a"), read_only)), folder.log("b"));
        log(&[(&broken, LogLevel::Error), (&sound, LogLevel::Error)]).write(
            LogLevel::Error,
            None,
            format_args!("told"),
        );
        assert!(folder.read("b").ends_with("told\n"));
        assert_eq!(folder.read("a"), "");
    }

    #[test]
    fn repeated_message_is_summarized_with_count_and_others_are_not_suppressed() {
        let folder = LogTestFolder::new("repeated");
        let file = folder.log("a");
        let log = log(&[(&file, LogLevel::Info)]);
        for connection in 0..50 {
            log.write_with(
                LogLevel::Warn,
                Some(connection),
                format_args!("again"),
                format_args!(", client: a"),
            );
            log.write(LogLevel::Warn, Some(connection), format_args!("number {connection}"));
        }
        LogSink::File(Arc::clone(&file)).write_repeats(u64::MAX);
        let text = folder.read("a");
        assert_eq!(text.lines().filter(|line| line.ends_with(" again, client: a")).count(), 10);
        assert_eq!(text.lines().filter(|line| line.contains(" number ")).count(), 50);
        let last = text.lines().last().expect("a line");
        assert!(
            last.contains("[warn]") && last.ends_with(": message repeated 40 times: [again, client: a]"),
            "{last}"
        );
    }

    #[test]
    fn lines_are_json_and_all_of_them_where_asked() {
        let folder = LogTestFolder::new("json");
        let file = folder.log("a");
        let target = ErrorLogTarget {
            is_json: true,
            repeats_all: true,
            ..ErrorLogTarget::new(LogSink::File(Arc::clone(&file)), LogLevel::Info)
        };
        let log = ErrorLog::new(vec![target]);
        for _ in 0..20 {
            log.write_with(
                LogLevel::Error,
                Some(3),
                format_args!("broken \"x\""),
                format_args!(", client: ::1, server: a"),
            );
        }
        let text = folder.read("a");
        assert_eq!(text.lines().count(), 20);
        let line: serde_json::Value =
            serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
        assert_eq!(
            (&line["message"], &line["client"], &line["server"]),
            (&"broken \"x\"".into(), &"::1".into(), &"a".into())
        );
    }
}
