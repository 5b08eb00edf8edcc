//! Destinations of access logs, and conditions for logging a request.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use myriad_conf::settings::OpenLogFileCache;
use myriad_script::{Environment, Frame, Predicates, Template};

use crate::log_file::LogFile;
use crate::syslog::Syslog;

/// Compiled `access_log` directive.
#[derive(PartialEq)]
pub struct AccessLog {
    /// Index of the log's [`LogFormat`](super::LogFormat) in the configuration.
    pub format: usize,
    /// Destination of the lines.
    pub target: LogTarget,
    /// `if=`: a request is logged only if the value of this text is neither empty nor `0`, or if the text cannot be
    /// evaluated; `None` to log all requests.
    pub condition: Option<Predicates>,
    /// `sample=1/N`: a request with a status from 100 to 399 is logged with a probability of 1/N; contains N, `None` to
    /// log all. Sampling does not affect other requests.
    pub sample: Option<u32>,
}

impl AccessLog {
    /// Returns true if a request with this final status is logged. `sample=` affects only statuses 100 to 399: all
    /// other requests count as errors. If the condition cannot be evaluated, it counts as true.
    pub fn admits(&self, status: u16, request: &impl Environment, frame: &mut Frame) -> bool {
        let is_error = !(100..400).contains(&status);
        let is_sampled = is_error || self.sample.is_none_or(|sample| fastrand::u32(..sample.max(1)) == 0);
        is_sampled
            && self
                .condition
                .as_ref()
                .is_none_or(|condition| condition.any_true(request, frame).unwrap_or(true))
    }
}

/// Destination of an `access_log`.
pub enum LogTarget {
    /// File whose path has no variables.
    File {
        /// Log file to which the lines are appended.
        file: Arc<LogFile>,
        /// `buffer=` and related parameters; `None` without them.
        buffer: Option<LogBuffering>,
    },
    /// Path with variables, and `open_log_file_cache`.
    Variable(Template, Option<OpenLogFileCache>),
    /// Syslog server to which each line is sent.
    Syslog(Arc<Syslog>),
}

/// Buffering of lines before they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBuffering {
    /// `buffer=`: size of the buffer in bytes.
    pub size: usize,
    /// `flush=`: maximum time in milliseconds for which a line remains in the buffer; `None` for no limit.
    pub flush_ms: Option<u64>,
    /// `gzip=`: compression level of the written buffers, each of which becomes a gzip member; `None` for no
    /// compression.
    pub gzip: Option<u8>,
}

/// Targets are equal if they use the same open file with the same buffering, the same path with variables and the same
/// cache parameters, or the same syslog server.
impl PartialEq for LogTarget {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File { file, buffer }, Self::File { file: other, buffer: rules }) => {
                Arc::ptr_eq(file, other) && buffer == rules
            }
            (Self::Variable(path, open), Self::Variable(other, rules)) => path == other && open == rules,
            (Self::Syslog(server), Self::Syslog(other)) => Arc::ptr_eq(server, other),
            _ => false,
        }
    }
}

impl LogTarget {
    /// Returns the path for a request, if this target's path has variables; relative paths are resolved against
    /// `prefix`.
    ///
    /// `None` for other targets, and for unusable paths: empty, with a zero byte or a component `..`, or not evaluable.
    pub fn path(&self, request: &impl Environment, frame: &mut Frame, prefix: &Path) -> Option<PathBuf> {
        let Self::Variable(template, _) = self else { return None };
        let mut path = Vec::new();
        template.eval(request, frame, &mut path).ok()?;
        // The path may contain values that a client controls; these must not lead out of the folder.
        let climbs = path.split(|byte| *byte == b'/').any(|part| part == b"..") || path.contains(&0);
        (!climbs && !path.is_empty()).then(|| prefix.join(OsStr::from_bytes(&path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::testing::{TestVariables, template};

    fn path(text: &str, values: &TestVariables) -> Option<PathBuf> {
        LogTarget::Variable(template(text), None).path(values, &mut Frame::new(), Path::new("/srv"))
    }

    fn admits(texts: &[&str], plain: &'static [u8]) -> bool {
        let condition = Some(Predicates::new(texts.iter().map(|text| template(text)).collect()));
        let log = AccessLog {
            format: 0,
            target: LogTarget::Variable(template("x"), None),
            condition,
            sample: None,
        };
        log.admits(200, &TestVariables { plain, ..TestVariables::default() }, &mut Frame::new())
    }

    #[test]
    fn a_path_is_relative_to_the_prefix() {
        let values = TestVariables { plain: b"a.example", other: b"x" };
        assert_eq!(path("logs/$plain.log", &values), Some("/srv/logs/a.example.log".into()));
        assert_eq!(path("/var/log/$plain/$other", &values), Some("/var/log/a.example/x".into()));
    }

    #[test]
    fn a_client_cannot_climb_out_of_the_folder_nor_cut_the_name() {
        for plain in [&b".."[..], b"../../etc/passwd", b"a/../../b", b"a/..", b"a\0"] {
            assert_eq!(
                path("logs/$plain", &TestVariables { plain, ..TestVariables::default() }),
                None,
                "{plain:?}"
            );
        }
        // Two dots within a name are allowed.
        let values = TestVariables { plain: b"a..b", ..TestVariables::default() };
        assert_eq!(path("logs/$plain", &values), Some("/srv/logs/a..b".into()));
    }

    #[test]
    fn there_is_no_log_without_a_path() {
        assert_eq!(path("$plain", &TestVariables::default()), None);
        assert_eq!(path("logs/$broken", &TestVariables::default()), None);
    }

    #[test]
    fn bytes_that_are_no_text_are_a_path() {
        let values = TestVariables { plain: b"\xff", ..TestVariables::default() };
        assert_eq!(path("$plain", &values).unwrap().as_os_str().as_bytes(), b"/srv/\xff");
    }

    #[test]
    fn an_empty_value_and_zero_keep_a_request_out_of_the_log() {
        assert!(!admits(&["$plain"], b""));
        assert!(!admits(&["$plain"], b"0"));
        assert!(!admits(&["$absent"], b"1"));
        assert!(admits(&["$plain"], b"00"));
        assert!(admits(&["$absent", "$plain"], b"1"), "one condition suffices");
    }

    #[test]
    fn a_condition_that_cannot_be_evaluated_loses_no_line() {
        assert!(admits(&["$broken"], b""));
    }

    #[test]
    fn a_log_without_condition_takes_all() {
        let log = AccessLog {
            format: 0,
            target: LogTarget::Variable(template("x"), None),
            condition: None,
            sample: None,
        };
        assert!(log.admits(200, &TestVariables::default(), &mut Frame::new()));
    }

    #[test]
    fn a_sample_is_about_one_in_so_many_and_leaves_out_no_error() {
        let sampled = |sample| {
            let (target, sample) = (LogTarget::Variable(template("x"), None), Some(sample));
            AccessLog { format: 0, target, condition: None, sample }
        };
        let count = |log: &AccessLog, status| {
            (0..10_000).filter(|_| log.admits(status, &TestVariables::default(), &mut Frame::new())).count()
        };
        assert!((50..200).contains(&count(&sampled(100), 200)));
        assert_eq!([404, 499, 502, 0].map(|status| count(&sampled(100), status)), [10_000; 4]);
        assert_eq!(count(&sampled(1), 304), 10_000);
    }
}
