//! The buffers in front of access logs (`buffer=`, `flush=`, `gzip=`).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use myriad_encode::{Coding, compress};
use tokio::sync::Notify;

use super::open_files::OpenLogs;
use super::target::{BufferRules, LogTarget};
use crate::log_file::LogFile;

/// A worker's buffers of log lines, and the logs it keeps open.
pub struct LogWriter {
    buffers: RefCell<HashMap<PathBuf, Buffer>>,
    open: RefCell<OpenLogs>,
    /// A buffer with a `flush=` time has begun.
    begun: Notify,
    /// The least time of those that have.
    soonest_ms: Cell<u64>,
}

/// How late a `flush=` may be at most, milliseconds.
const LONGEST_WAIT_MS: u64 = 1000;

impl Default for LogWriter {
    fn default() -> Self {
        Self {
            buffers: RefCell::default(),
            open: RefCell::default(),
            begun: Notify::new(),
            soonest_ms: Cell::new(LONGEST_WAIT_MS),
        }
    }
}

struct Buffer {
    file: Arc<LogFile>,
    lines: Vec<u8>,
    since_ms: u64,
    rules: BufferRules,
}

impl LogWriter {
    /// Writes one line, which bears its end. `path` is that of a variable target, whose errors are told: a full disk must
    /// not stop the site, and the error log would be on the same disk.
    pub fn write(&self, target: &LogTarget, path: Option<&Path>, line: &[u8]) -> io::Result<()> {
        match (target, path) {
            (LogTarget::File { file, buffer: None }, _) => {
                let _ = file.append(line);
            }
            (LogTarget::File { file, buffer: Some(rules) }, _) => self.gather(file, line, *rules),
            (LogTarget::Variable(_, rules), Some(path)) => {
                let now = myriad_net::clock::monotonic_ms();
                self.open.borrow_mut().append(path, rules.as_ref(), now, line)?;
            }
            (LogTarget::Variable(..), None) => {}
            (LogTarget::Syslog(syslog), _) => syslog.send_line(line),
        }
        Ok(())
    }

    fn gather(&self, file: &Arc<LogFile>, line: &[u8], rules: BufferRules) {
        let mut buffers = self.buffers.borrow_mut();
        if !buffers.contains_key(file.path()) {
            let buffer = Buffer { file: Arc::clone(file), lines: Vec::new(), since_ms: 0, rules };
            buffers.insert(file.path().to_owned(), buffer);
        }
        let Some(buffer) = buffers.get_mut(file.path()) else { return };
        // A reload may have changed them.
        buffer.rules = rules;
        if buffer.lines.len() + line.len() > rules.size {
            buffer.flush();
        }
        if buffer.lines.is_empty() {
            buffer.since_ms = myriad_net::clock::monotonic_ms();
            if let Some(flush_ms) = rules.flush_ms {
                self.soonest_ms.set(self.soonest_ms.get().min(flush_ms));
                self.begun.notify_one();
            }
        }
        buffer.lines.extend_from_slice(line);
    }

    /// Flushes buffers when their `flush=` time has come, for ever.
    pub async fn keep_flushing(&self) {
        loop {
            self.begun.notified().await;
            // A buffer that begins meanwhile may have less time than this one.
            let wait_ms = self.soonest_ms.replace(LONGEST_WAIT_MS);
            tokio::time::sleep(Duration::from_millis(wait_ms)).await;
            self.flush(false);
            if self.buffers.borrow().values().any(Buffer::waits) {
                self.begun.notify_one();
            }
        }
    }

    /// Writes what has waited for its `flush=` time; everything when `all`.
    pub fn flush(&self, all: bool) {
        let now = myriad_net::clock::monotonic_ms();
        for buffer in self.buffers.borrow_mut().values_mut() {
            let limit = buffer.rules.flush_ms.unwrap_or(u64::MAX);
            if all || now.saturating_sub(buffer.since_ms) >= limit {
                buffer.flush();
            }
        }
    }

    /// Closes the logs whose path holds variables: they are to be opened anew.
    pub fn reopen(&self) {
        self.open.borrow_mut().close();
    }
}

impl Buffer {
    fn waits(&self) -> bool {
        self.rules.flush_ms.is_some() && !self.lines.is_empty()
    }

    fn flush(&mut self) {
        if self.lines.is_empty() {
            return;
        }
        // One member of a gzip file after the other is a gzip file (RFC 1952 section 2.2).
        let packed = self
            .rules
            .gzip
            .and_then(|level| compress(Coding::Gzip, myriad_encode::Level::Number(level), &self.lines).ok());
        let _ = self.file.append(packed.as_deref().unwrap_or(&self.lines));
        self.lines.clear();
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.flush(true);
    }
}
