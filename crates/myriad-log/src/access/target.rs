//! Which requests an access log tells of, and where its lines go.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use myriad_script::{Environment, Frame, Predicates, Template};

use super::open_files::OpenFiles;
use crate::log_file::LogFile;
use crate::syslog::Syslog;

/// One `access_log`.
pub struct AccessLog {
    /// The index of its [`Format`](super::Format) among those of the configuration.
    pub format: usize,
    /// Where lines go.
    pub target: LogTarget,
    /// `if=`: the request is logged where one of these is neither empty nor `0`.
    pub condition: Option<Predicates>,
}

impl AccessLog {
    /// Whether a request is to be logged; it is where the condition cannot be evaluated.
    pub fn admits(&self, request: &impl Environment, frame: &mut Frame) -> bool {
        self.condition.as_ref().is_none_or(|condition| condition.any_true(request, frame).unwrap_or(true))
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
    Variable(Template, Option<OpenFiles>),
    /// A syslog server.
    Syslog(Arc<Syslog>),
}

/// How lines are gathered before they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferRules {
    /// `buffer=`, bytes.
    pub size: usize,
    /// `flush=`, milliseconds.
    pub flush_ms: Option<u64>,
    /// `gzip=`: what is gathered is compressed at this level.
    pub gzip: Option<u8>,
}

impl LogTarget {
    /// The path of a target that holds variables, for one request, relative to `prefix`; none for another target, and where there
    /// is to be no log: an empty path, one with a zero byte, one with a `..` in it, one that cannot be evaluated.
    pub fn path(&self, request: &impl Environment, frame: &mut Frame, prefix: &Path) -> Option<PathBuf> {
        let Self::Variable(template, _) = self else { return None };
        let mut path = Vec::new();
        template.eval(request, frame, &mut path).ok()?;
        // What a client sent may be part of the path: it must not climb.
        let climbs = path.split(|byte| *byte == b'/').any(|part| part == b"..") || path.contains(&0);
        (!climbs && !path.is_empty()).then(|| prefix.join(OsStr::from_bytes(&path)))
    }
}
