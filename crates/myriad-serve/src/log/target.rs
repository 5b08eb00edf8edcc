//! Where log lines go, and the buffers in front of it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use myriad_script::{Frame, Template};

use crate::error_log::LogFile;
use crate::exchange::Request;
use crate::files::path::as_path;

/// The destination of an `access_log`.
pub(crate) enum LogTarget {
    /// A file, opened once.
    File {
        /// The file.
        file: Arc<LogFile>,
        /// `buffer=`: bytes gathered before they are written.
        buffer: Option<usize>,
        /// `flush=`, milliseconds.
        flush_ms: Option<u64>,
    },
    /// A path with variables: opened for each line, as nginx does without `open_log_file_cache`.
    Variable(Template),
}

impl LogTarget {
    /// The path of a variable target for this request.
    pub(crate) fn path(&self, request: &Request, frame: &mut Frame) -> Option<PathBuf> {
        let Self::Variable(template) = self else { return None };
        let mut path = Vec::new();
        template.eval(request, frame, &mut path).ok()?;
        // What a client sent may be part of the path: it must not climb.
        let climbs = path.split(|byte| *byte == b'/').any(|part| part == b"..") || path.contains(&0);
        (!climbs && !path.is_empty()).then(|| request.runtime().prefix.join(as_path(&path)))
    }
}

/// A worker's buffers of log lines.
#[derive(Default)]
pub(crate) struct LogWriter {
    buffers: RefCell<HashMap<PathBuf, Buffer>>,
}

struct Buffer {
    file: Arc<LogFile>,
    lines: Vec<u8>,
    since_ms: u64,
    flush_ms: u64,
}

impl LogWriter {
    /// Writes one line, which bears its end. `path` is that of a variable target.
    pub(crate) fn write(&self, target: &LogTarget, path: Option<&std::path::Path>, line: &[u8]) {
        match (target, path) {
            (LogTarget::File { file, buffer: None, .. }, _) => {
                // A full disk must not stop the site; the error log would be on the same disk.
                let _ = file.append(line);
            }
            (LogTarget::File { file, buffer: Some(size), flush_ms }, _) => {
                self.gather(file, line, *size, flush_ms.unwrap_or(u64::MAX));
            }
            (LogTarget::Variable(_), Some(path)) => {
                let file = OpenOptions::new().append(true).create(true).mode(0o644).open(path);
                let _ = file.and_then(|mut file| file.write_all(line));
            }
            (LogTarget::Variable(_), None) => {}
        }
    }

    fn gather(&self, file: &Arc<LogFile>, line: &[u8], size: usize, flush_ms: u64) {
        let mut buffers = self.buffers.borrow_mut();
        if !buffers.contains_key(file.path()) {
            let buffer = Buffer { file: Arc::clone(file), lines: Vec::new(), since_ms: 0, flush_ms };
            buffers.insert(file.path().to_owned(), buffer);
        }
        let Some(buffer) = buffers.get_mut(file.path()) else { return };
        if buffer.lines.len() + line.len() > size {
            buffer.flush();
        }
        if buffer.lines.is_empty() {
            buffer.since_ms = myriad_net::clock::monotonic_ms();
        }
        buffer.lines.extend_from_slice(line);
    }

    /// Writes what has waited for its `flush=` time; everything when `all`.
    pub(crate) fn flush(&self, all: bool) {
        let now = myriad_net::clock::monotonic_ms();
        for buffer in self.buffers.borrow_mut().values_mut() {
            if all || now.saturating_sub(buffer.since_ms) >= buffer.flush_ms {
                buffer.flush();
            }
        }
    }
}

impl Buffer {
    fn flush(&mut self) {
        if !self.lines.is_empty() {
            let _ = self.file.append(&self.lines);
            self.lines.clear();
        }
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.flush(true);
    }
}
