//! The error log: nginx's line format, and several targets, each with a level of its own.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use myriad_calendar::format_error_log_time;
use myriad_conf::settings::Level;

use crate::escaped::escaped;
use crate::local_time;
use crate::log_file::LogFile;
use crate::syslog::Syslog;

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

/// Target of one `error_log` directive: a sink and its level.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where lines go.
    pub sink: Sink,
    /// Least severe level that is written.
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

    /// Whether any target takes this level. It costs one comparison: ask before a message is formatted.
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

fn escape_controls(line: &mut String, start: usize) {
    if let Cow::Owned(escaped) = escaped(&line[start..]) {
        line.truncate(start);
        line.push_str(&escaped);
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::testing::Folder;

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

    fn log(targets: &[(&Arc<LogFile>, Level)]) -> ErrorLog {
        let target = |(file, level): &(&Arc<LogFile>, Level)| Target {
            sink: Sink::File(Arc::clone(file)),
            level: *level,
        };
        ErrorLog::new(targets.iter().map(target).collect())
    }

    #[test]
    fn a_level_is_enabled_where_any_target_takes_it() {
        let folder = Folder::new("enabled");
        let (one, other) = (folder.log("a"), folder.log("b"));
        let log = log(&[(&one, Level::Error), (&other, Level::Notice)]);
        assert!(log.enabled(Level::Emerg) && log.enabled(Level::Notice));
        assert!(!log.enabled(Level::Info));
        assert!(!ErrorLog::new(Vec::new()).enabled(Level::Emerg), "a log without targets takes nothing");
    }

    #[test]
    fn a_connection_that_is_debugged_is_logged_whatever_the_level() {
        let folder = Folder::new("everywhere");
        let file = folder.log("a");
        let log = log(&[(&file, Level::Emerg)]);
        log.write(Level::Debug, Some(3), format_args!("left out"));
        log.write_everywhere(Level::Debug, 3, format_args!("taken"));
        let text = folder.read("a");
        assert!(text.contains(" [debug] ") && text.ends_with(": *3 taken\n"), "{text}");
        assert_eq!(text.lines().count(), 1);
    }

    #[test]
    fn a_line_of_no_connection_has_no_number() {
        let folder = Folder::new("unnumbered");
        let file = folder.log("a");
        log(&[(&file, Level::Notice)]).write(Level::Notice, None, format_args!("using {}", "epoll"));
        let text = folder.read("a");
        let thread = rustix::thread::gettid().as_raw_nonzero();
        let rest = format!(" [notice] {}#{thread}: using epoll\n", std::process::id());
        assert_eq!(&text[19..], rest);
    }

    #[test]
    fn lines_of_many_threads_are_whole() {
        let folder = Folder::new("threads");
        let file = folder.log("a");
        let log = log(&[(&file, Level::Info)]);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let log = &log;
                scope.spawn(move || {
                    for _ in 0..50 {
                        log.write(Level::Info, Some(thread), format_args!("{}", "x".repeat(500)));
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
        let folder = Folder::new("stderr");
        let file = folder.log("a");
        assert!(!log(&[(&file, Level::Debug)]).reaches_stderr(Level::Emerg));
        let log = ErrorLog::stderr(Level::Warn);
        assert!(log.reaches_stderr(Level::Warn) && !log.reaches_stderr(Level::Notice));
    }

    #[test]
    fn a_target_that_cannot_be_written_to_does_not_keep_the_others_from_the_line() {
        let folder = Folder::new("broken");
        folder.open("a");
        let read_only = std::fs::File::open(folder.path("a")).expect("a file").into();
        let (broken, sound) = (Arc::new(LogFile::new(folder.path("a"), read_only)), folder.log("b"));
        log(&[(&broken, Level::Error), (&sound, Level::Error)]).write(
            Level::Error,
            None,
            format_args!("told"),
        );
        assert!(folder.read("b").ends_with("told\n"));
        assert_eq!(folder.read("a"), "");
    }
}
