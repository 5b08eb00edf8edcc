//! Targets of access logs: which requests are logged, and where the lines go.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use myriad_conf::settings::OpenLogFileCache;
use myriad_script::{Environment, Frame, Predicates, Template};

use crate::log_file::LogFile;
use crate::syslog::Syslog;

/// One `access_log`.
#[derive(PartialEq)]
pub struct AccessLog {
    /// The index of its [`Format`](super::Format) among those of the configuration.
    pub format: usize,
    /// Destination of the lines.
    pub target: LogTarget,
    /// `if=`: the request is logged where one of these is neither empty nor `0`.
    pub condition: Option<Predicates>,
    /// `sample=1/N`: of requests that went well one in so many.
    pub sample: Option<u32>,
}

impl AccessLog {
    /// Whether a request that ended with `status` is to be logged; it is where the condition cannot be evaluated. A sample leaves
    /// out no error: 400 and above, and what has no status.
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

/// The destination of an `access_log`.
pub enum LogTarget {
    /// A file, opened once.
    File {
        /// The file.
        file: Arc<LogFile>,
        /// `buffer=` and what goes with it.
        buffer: Option<BufferRules>,
    },
    /// A path with variables.
    Variable(Template, Option<OpenLogFileCache>),
    /// A syslog server.
    Syslog(Arc<Syslog>),
}

/// Buffering of lines before they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferRules {
    /// `buffer=`, bytes.
    pub size: usize,
    /// `flush=`, milliseconds.
    pub flush_ms: Option<u64>,
    /// `gzip=`: level at which a full buffer is compressed.
    pub gzip: Option<u8>,
}

/// Whether lines go to the same file, opened once, or to the same server.
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
    /// The path for one request, relative to `prefix`, of a target whose path holds variables. `None` for other targets, and
    /// for a path that is not used: empty, with a zero byte, with a component `..`, or not to be evaluated.
    pub fn path(&self, request: &impl Environment, frame: &mut Frame, prefix: &Path) -> Option<PathBuf> {
        let Self::Variable(template, _) = self else { return None };
        let mut path = Vec::new();
        template.eval(request, frame, &mut path).ok()?;
        // A value that the client chose may be part of the path: it must not lead out of the folder.
        let climbs = path.split(|byte| *byte == b'/').any(|part| part == b"..") || path.contains(&0);
        (!climbs && !path.is_empty()).then(|| prefix.join(OsStr::from_bytes(&path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::testing::{Values, template};

    fn path(text: &str, values: &Values) -> Option<PathBuf> {
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
        log.admits(200, &Values { plain, ..Values::default() }, &mut Frame::new())
    }

    #[test]
    fn a_path_is_relative_to_the_prefix() {
        let values = Values { plain: b"a.example", other: b"x" };
        assert_eq!(path("logs/$plain.log", &values), Some("/srv/logs/a.example.log".into()));
        assert_eq!(path("/var/log/$plain/$other", &values), Some("/var/log/a.example/x".into()));
    }

    #[test]
    fn a_client_cannot_climb_out_of_the_folder_nor_cut_the_name() {
        for plain in [&b".."[..], b"../../etc/passwd", b"a/../../b", b"a/..", b"a\0"] {
            assert_eq!(path("logs/$plain", &Values { plain, ..Values::default() }), None, "{plain:?}");
        }
        // Two dots within a name do not lead to the folder above.
        let values = Values { plain: b"a..b", ..Values::default() };
        assert_eq!(path("logs/$plain", &values), Some("/srv/logs/a..b".into()));
    }

    #[test]
    fn there_is_no_log_without_a_path() {
        assert_eq!(path("$plain", &Values::default()), None);
        assert_eq!(path("logs/$broken", &Values::default()), None);
    }

    #[test]
    fn bytes_that_are_no_text_are_a_path() {
        let values = Values { plain: b"\xff", ..Values::default() };
        assert_eq!(path("$plain", &values).unwrap().as_os_str().as_bytes(), b"/srv/\xff");
    }

    #[test]
    fn an_empty_value_and_zero_keep_a_request_out_of_the_log() {
        assert!(!admits(&["$plain"], b""));
        assert!(!admits(&["$plain"], b"0"));
        assert!(!admits(&["$absent"], b"1"));
        assert!(admits(&["$plain"], b"00"));
        assert!(admits(&["$absent", "$plain"], b"1"), "one of them is enough");
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
        assert!(log.admits(200, &Values::default(), &mut Frame::new()));
    }

    #[test]
    fn a_sample_is_about_one_in_so_many_and_leaves_out_no_error() {
        let sampled = |sample| {
            let (target, sample) = (LogTarget::Variable(template("x"), None), Some(sample));
            AccessLog { format: 0, target, condition: None, sample }
        };
        let count = |log: &AccessLog, status| {
            (0..10_000).filter(|_| log.admits(status, &Values::default(), &mut Frame::new())).count()
        };
        assert!((50..200).contains(&count(&sampled(100), 200)));
        assert_eq!([404, 499, 502, 0].map(|status| count(&sampled(100), status)), [10_000; 4]);
        assert_eq!(count(&sampled(1), 304), 10_000);
    }
}
