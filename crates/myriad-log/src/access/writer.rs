//! Buffers in front of access logs (`buffer=`, `flush=`, `gzip=`).

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

/// Buffers of log lines of one worker, and the logs that it keeps open.
pub struct LogWriter {
    buffers: RefCell<HashMap<PathBuf, Buffer>>,
    open: RefCell<OpenLogs>,
    /// Wakes `keep_flushing` when a buffer with a `flush=` time gets its first line.
    begun: Notify,
    /// Shortest `flush=` time of these buffers, milliseconds.
    soonest_ms: Cell<u64>,
}

/// Most milliseconds by which a flush may be later than its `flush=` time.
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
        // Rules of the log: a reload may have changed them.
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
            // A buffer that gets its first line during the wait may have a shorter time than this one.
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
        // Each buffer becomes one member of the file: members after each other are a gzip file (RFC 1952 section 2.2).
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

#[cfg(test)]
mod tests {
    use std::future::{Future, poll_fn};
    use std::pin::pin;
    use std::task::Poll;

    use myriad_conf::settings::OpenLogFileCache;
    use myriad_encode::decompress;

    use super::*;
    use crate::access::testing::template;
    use crate::testing::Folder;

    const RULES: BufferRules = BufferRules { size: 8, flush_ms: None, gzip: None };

    fn target(folder: &Folder, buffer: Option<BufferRules>) -> LogTarget {
        LogTarget::File { file: folder.log("a.log"), buffer }
    }

    fn write(writer: &LogWriter, target: &LogTarget, line: &str) {
        writer.write(target, None, line.as_bytes()).unwrap();
    }

    #[test]
    fn a_line_without_buffer_is_there_at_once() {
        let folder = Folder::new("unbuffered");
        write(&LogWriter::default(), &target(&folder, None), "one\n");
        assert_eq!(folder.read("a.log"), "one\n");
    }

    #[test]
    fn the_line_that_does_not_fit_has_the_others_written_and_stays() {
        let folder = Folder::new("buffered");
        let (writer, target) = (LogWriter::default(), target(&folder, Some(RULES)));
        write(&writer, &target, "one\n");
        write(&writer, &target, "two\n");
        assert_eq!(folder.read("a.log"), "");
        write(&writer, &target, "3\n");
        assert_eq!(folder.read("a.log"), "one\ntwo\n");
        writer.flush(true);
        assert_eq!(folder.read("a.log"), "one\ntwo\n3\n");
        writer.flush(true);
        assert_eq!(folder.read("a.log"), "one\ntwo\n3\n", "written twice");
    }

    #[test]
    fn a_line_longer_than_the_buffer_is_whole() {
        let folder = Folder::new("long");
        let (writer, target) = (LogWriter::default(), target(&folder, Some(RULES)));
        write(&writer, &target, "longer than eight\n");
        write(&writer, &target, "x\n");
        assert_eq!(folder.read("a.log"), "longer than eight\n");
    }

    #[test]
    fn buffers_without_a_time_wait_for_space_or_the_end() {
        let folder = Folder::new("end");
        let writer = LogWriter::default();
        write(&writer, &target(&folder, Some(RULES)), "one\n");
        writer.flush(false);
        assert_eq!(folder.read("a.log"), "");
        drop(writer);
        assert_eq!(folder.read("a.log"), "one\n");
    }

    #[test]
    fn what_is_gathered_is_written_once_its_time_has_come() {
        let folder = Folder::new("time");
        let writer = LogWriter::default();
        write(&writer, &target(&folder, Some(BufferRules { flush_ms: Some(3_600_000), ..RULES })), "one\n");
        writer.flush(false);
        assert_eq!(folder.read("a.log"), "");
        // A reload may shorten the time of lines that are waiting.
        write(&writer, &target(&folder, Some(BufferRules { flush_ms: Some(0), ..RULES })), "2\n");
        writer.flush(false);
        assert_eq!(folder.read("a.log"), "one\n2\n");
    }

    #[test]
    fn a_buffer_is_flushed_without_a_further_line() {
        let folder = Folder::new("flushing");
        let writer = LogWriter::default();
        let target = target(&folder, Some(BufferRules { flush_ms: Some(0), ..RULES }));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async {
            let mut flushing = pin!(writer.keep_flushing());
            for expected in ["one\n", "one\none\n"] {
                write(&writer, &target, "one\n");
                poll_fn(|cx| {
                    assert!(flushing.as_mut().poll(cx).is_pending(), "it ended");
                    if folder.read("a.log") == expected {
                        return Poll::Ready(());
                    }
                    cx.waker().wake_by_ref();
                    Poll::Pending
                })
                .await;
            }
        });
    }

    #[test]
    fn logs_that_name_one_file_share_a_buffer() {
        let folder = Folder::new("shared");
        let writer = LogWriter::default();
        let file = folder.log("a.log");
        let targets = [(); 2].map(|()| LogTarget::File { file: Arc::clone(&file), buffer: Some(RULES) });
        write(&writer, &targets[0], "one\n");
        write(&writer, &targets[1], "two\n");
        write(&writer, &targets[0], "3\n");
        assert_eq!(folder.read("a.log"), "one\ntwo\n");
    }

    #[test]
    fn each_buffer_is_a_member_of_a_gzip_file() {
        let folder = Folder::new("gzip");
        let writer = LogWriter::default();
        let target = target(&folder, Some(BufferRules { gzip: Some(6), ..RULES }));
        write(&writer, &target, "one\n");
        writer.flush(true);
        let first = folder.bytes("a.log");
        assert_eq!(decompress(Coding::Gzip, &first, 100).unwrap(), b"one\n");
        write(&writer, &target, "two\n");
        writer.flush(true);
        let both = folder.bytes("a.log");
        assert_eq!(decompress(Coding::Gzip, &both[first.len()..], 100).unwrap(), b"two\n");
    }

    #[test]
    fn a_path_with_variables_is_opened_for_each_request_and_what_fails_is_told() {
        let folder = Folder::new("variable");
        let writer = LogWriter::default();
        let target = LogTarget::Variable(template("$plain"), None);
        writer.write(&target, Some(&folder.path("b.log")), b"one\n").unwrap();
        writer.write(&target, None, b"no path, no log\n").unwrap();
        assert_eq!(folder.read("b.log"), "one\n");
        let error = writer.write(&target, Some(&folder.path("missing/b.log")), b"one\n").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn logs_opened_anew_follow_their_name() {
        let folder = Folder::new("anew");
        let writer = LogWriter::default();
        let rules = OpenLogFileCache { max: 9, inactive: 3_600_000, min_uses: 1, valid: 3_600_000 };
        let target = LogTarget::Variable(template("$plain"), Some(rules));
        let path = folder.path("a.log");
        writer.write(&target, Some(&path), b"one\n").unwrap();
        std::fs::rename(&path, folder.path("a.log.1")).unwrap();
        writer.write(&target, Some(&path), b"two\n").unwrap();
        assert_eq!(folder.read("a.log.1"), "one\ntwo\n");
        writer.reopen();
        writer.write(&target, Some(&path), b"three\n").unwrap();
        assert_eq!(folder.read("a.log"), "three\n");
    }
}
