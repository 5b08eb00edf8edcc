//! The error log: nginx's line format, several targets with levels of their own, reopening while in use.
//!
//! A [`LogFile`] is one open file that any number of logs share; [`LogFile::replace`] swaps its descriptor under
//! the writers (signal USR1). An [`ErrorLog`] is what one context (main, http, server, location) writes to.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use myriad_http::date;

use crate::level::Level;
use crate::local_time;
use crate::syslog::Syslog;

/// One file opened for appending, shared by every log that names it.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    file: RwLock<File>,
}

impl LogFile {
    /// Takes a descriptor opened with `O_APPEND`; `path` is its name in the configuration.
    pub fn new(path: PathBuf, descriptor: OwnedFd) -> Self {
        Self { path, file: RwLock::new(File::from(descriptor)) }
    }

    /// The path as the configuration names it, made absolute by the prefix.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends bytes with one system call, so that lines of several processes never interleave.
    pub fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let file = self.file.read().unwrap_or_else(PoisonError::into_inner);
        (&*file).write_all(bytes)
    }

    /// Swaps in a newly opened descriptor; a writer in flight finishes on the old one.
    pub fn replace(&self, descriptor: OwnedFd) {
        *self.file.write().unwrap_or_else(PoisonError::into_inner) = File::from(descriptor);
    }
}

/// Where lines go.
#[derive(Clone, Debug)]
pub enum Sink {
    /// A shared file.
    File(Arc<LogFile>),
    /// Standard error of the process (`error_log stderr`).
    Stderr,
    /// A syslog server.
    Syslog(Arc<Syslog>),
}

/// One `error_log` directive: a sink and its threshold.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where lines go.
    pub sink: Sink,
    /// The least severe level that is written.
    pub level: Level,
}

/// The targets of one context; cheap to clone.
#[derive(Clone, Debug)]
pub struct ErrorLog {
    targets: Arc<[Target]>,
    threshold: Option<Level>,
}

impl ErrorLog {
    /// A log that writes each line to every target whose level admits it.
    pub fn new(targets: Vec<Target>) -> Self {
        let threshold = targets.iter().map(|target| target.level).max();
        Self { targets: targets.into(), threshold }
    }

    /// A log on standard error, used until the configuration names another.
    pub fn stderr(level: Level) -> Self {
        Self::new(vec![Target { sink: Sink::Stderr, level }])
    }

    /// Whether any target takes this level: one comparison, to be asked before a message is formatted.
    pub fn enabled(&self, level: Level) -> bool {
        self.threshold.is_some_and(|threshold| level <= threshold)
    }

    /// Whether a line of this level goes to standard error.
    pub fn reaches_stderr(&self, level: Level) -> bool {
        self.targets.iter().any(|target| matches!(target.sink, Sink::Stderr) && level <= target.level)
    }

    /// Writes `date [level] pid#tid: *connection message`; a target that cannot be written to is passed over,
    /// since there is nowhere left to say so. `connection` is the serial number of the client connection.
    pub fn write(&self, level: Level, connection: Option<u64>, message: fmt::Arguments<'_>) {
        self.write_where(|target| level <= target.level, level, connection, message);
    }

    /// As [`ErrorLog::write`], to every target whatever its level (`debug_connection`).
    pub fn write_everywhere(&self, level: Level, connection: u64, message: fmt::Arguments<'_>) {
        self.write_where(|_| true, level, Some(connection), message);
    }

    fn write_where(
        &self,
        wanted: impl Fn(&Target) -> bool,
        level: Level,
        connection: Option<u64>,
        message: fmt::Arguments<'_>,
    ) {
        if !self.targets.iter().any(&wanted) {
            return;
        }
        let mut line = String::with_capacity(128);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
        begin_line(&mut line, now, level, connection);
        let start = line.len();
        // Writing to a String cannot fail; a Display that reports an error loses its own text only.
        let _ = line.write_fmt(message);
        escape_controls(&mut line, start);
        line.push('\n');
        for target in self.targets.iter().filter(|target| wanted(target)) {
            let _ = match &target.sink {
                Sink::File(file) => file.append(line.as_bytes()),
                Sink::Stderr => io::stderr().write_all(line.as_bytes()),
                Sink::Syslog(syslog) => {
                    syslog.send_error(level, line.as_bytes());
                    Ok(())
                }
            };
        }
    }
}

fn begin_line(line: &mut String, now_s: u64, level: Level, connection: Option<u64>) {
    let time = date::format_error_log_time(now_s, local_time::offset_minutes(now_s));
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

/// What a client sent must not forge a line of its own, drive the reader's terminal or turn the order of letters round.
fn is_unsafe(character: char) -> bool {
    // C0 but the tab, DEL and C1 (U+009B begins a terminal's command as ESC [ does); then ends of lines and marks of direction.
    (character.is_control() && character != '\t')
        || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escape_controls(line: &mut String, start: usize) {
    if let Cow::Owned(escaped) = escaped(&line[start..]) {
        line.truncate(start);
        line.push_str(&escaped);
    }
}

/// A message as it may be shown on one line: each byte of a control character as `\xXX`.
pub fn escaped(message: &str) -> Cow<'_, str> {
    if !message.chars().any(is_unsafe) {
        return Cow::Borrowed(message);
    }
    let mut shown = String::with_capacity(message.len() + 16);
    for character in message.chars() {
        if is_unsafe(character) {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a String cannot fail.
                let _ = write!(shown, "\\x{byte:02X}");
            }
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        begin_line(&mut line, 20_778 * 86_400 + 3_723, Level::Error, Some(7));
        let head = format!(" [error] {}#", std::process::id());
        assert!(line.starts_with("2026/11/2") && line[19..].starts_with(&head), "{line}");
        assert!(line.ends_with(": *7 "), "{line}");
    }

    #[test]
    fn each_target_applies_its_own_level() {
        let (loud_path, loud) = temporary("loud");
        let (quiet_path, quiet) = temporary("quiet");
        let log = ErrorLog::new(vec![
            Target { sink: Sink::File(Arc::new(LogFile::new(loud_path.clone(), loud))), level: Level::Info },
            Target {
                sink: Sink::File(Arc::new(LogFile::new(quiet_path.clone(), quiet))),
                level: Level::Error,
            },
        ]);
        assert!(log.enabled(Level::Info));
        assert!(!log.enabled(Level::Debug));
        log.write(Level::Info, None, format_args!("only in one"));
        log.write(Level::Crit, None, format_args!("in both"));
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
        let log = ErrorLog::new(vec![Target { sink: Sink::File(Arc::clone(&file)), level: Level::Notice }]);
        log.write(Level::Notice, None, format_args!("before"));
        let moved = path.with_extension("1");
        std::fs::rename(&path, &moved).expect("rename");
        log.write(Level::Notice, None, format_args!("still the old file"));
        file.replace(open(&path));
        log.write(Level::Notice, None, format_args!("after"));
        assert!(std::fs::read_to_string(&moved).expect("old").ends_with("still the old file\n"));
        let new = std::fs::read_to_string(&path).expect("new");
        assert!(new.ends_with("after\n") && new.lines().count() == 1, "{new}");
        let _ = (std::fs::remove_file(path), std::fs::remove_file(moved));
    }

    #[test]
    fn a_message_cannot_forge_a_second_line() {
        let mut line = String::from("head: ");
        line.push_str("GET /\r\nx\u{1b}[2J é");
        escape_controls(&mut line, 6);
        assert_eq!(line, "head: GET /\\x0D\\x0Ax\\x1B[2J é");
    }

    #[test]
    fn controls_of_eight_bits_and_marks_of_direction_are_escaped_and_letters_are_not() {
        assert_eq!(escaped("a\u{9b}31m\u{80}\u{9f}\u{7f}b"), "a\\xC2\\x9B31m\\xC2\\x80\\xC2\\x9F\\x7Fb");
        assert_eq!(escaped("\u{202e}x\u{2028}"), "\\xE2\\x80\\xAEx\\xE2\\x80\\xA8");
        let letters = "\tÀ\u{a0}é 日本 – “x” 🦀";
        assert!(matches!(escaped(letters), Cow::Borrowed(same) if same == letters));
        // Bytes that are no UTF-8 come as U+FFFD, whatever they are.
        assert_eq!(escaped(&String::from_utf8_lossy(b"\x9b\x85")), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn levels_are_named_as_the_directive_names_them() {
        assert_eq!(Level::parse("warn"), Some(Level::Warn));
        assert_eq!(Level::parse("debug_http"), Some(Level::Debug));
        assert_eq!(Level::parse("loud"), None);
        assert!(Level::Emerg < Level::Debug);
    }
}
