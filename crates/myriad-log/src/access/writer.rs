//! Access log lines of one worker, gathered in buffers and then passed to the writer threads.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use super::target::{LogBuffering, LogTarget};
use super::threads::{Batch, LogThreads, Waiters};
use crate::log_file::LogFile;

/// Buffered access log lines of a worker. Only [`LogWriter::finish`] waits for the disk.
pub struct LogWriter {
    threads: Arc<LogThreads>,
    /// Buffers of the log files; the index is [`LogFile::number`].
    buffers: RefCell<Vec<Option<Buffer>>>,
    /// Numbers of the files with non-empty buffers.
    filled: RefCell<Vec<usize>>,
    /// Wakes `keep_flushing` when the first line is added to an empty buffer with a flush time.
    flush_needed: Notify,
    /// Time in milliseconds that `keep_flushing` waits before its next flush: the shortest flush time of the buffers,
    /// at most [`LONGEST_WAIT_MS`].
    soonest_ms: Cell<u64>,
    /// Connections that wait until the lines of unbuffered logs, and of logs with variables in their path, are written.
    waiters: RefCell<Vec<oneshot::Sender<()>>>,
    /// Set if lines were queued for logs with variables in their path since a connection last waited for such lines.
    has_put_lines: Cell<bool>,
    /// Time until which connections close without waiting for their log lines, because a disk is slow; in milliseconds
    /// since boot.
    slow_until_ms: Cell<u64>,
}

/// Maximum interval in milliseconds between two checks for access log buffers whose flush time is over.
const LONGEST_WAIT_MS: u64 = 1000;

/// Buffering of logs without `buffer=`: lines are gathered for 10 ms, so that a busy worker rarely wakes a thread.
const UNBUFFERED: LogBuffering = LogBuffering { size: 64 << 10, flush_ms: Some(10), gzip: None };

/// Time in milliseconds during which connections do not wait for their lines, after one has waited for too long.
const SLOW_MS: u64 = 10_000;

/// Maximum time that a worker waits at shutdown until its access log lines are written.
const AT_THE_END: Duration = Duration::from_secs(5);

impl Default for LogWriter {
    fn default() -> Self {
        Self::new(Arc::default())
    }
}

struct Buffer {
    file: Arc<LogFile>,
    lines: Vec<u8>,
    /// Time at which the oldest line in the buffer was added, in milliseconds since boot.
    since_ms: u64,
    rules: LogBuffering,
    /// True if the log has no `buffer=`, so that connections wait for its lines before they close.
    is_unbuffered: bool,
}

impl LogWriter {
    /// Creates a writer without lines. `threads` are the writer threads of the process.
    pub fn new(threads: Arc<LogThreads>) -> Self {
        Self {
            threads,
            buffers: RefCell::default(),
            filled: RefCell::default(),
            flush_needed: Notify::new(),
            soonest_ms: Cell::new(LONGEST_WAIT_MS),
            waiters: RefCell::default(),
            has_put_lines: Cell::new(false),
            slow_until_ms: Cell::new(0),
        }
    }

    /// Returns the writer threads of the process.
    pub fn threads(&self) -> &LogThreads {
        &self.threads
    }

    /// Adds a line to a log. `write` appends the line with its line break to a buffer and returns true, or returns
    /// false to discard it. `path` is the result of [`LogTarget::path`]; if it is `None`, a line for a target with
    /// variables is discarded.
    pub fn line(&self, target: &LogTarget, path: Option<PathBuf>, write: impl FnOnce(&mut Vec<u8>) -> bool) {
        match target {
            LogTarget::File { file, buffer } => self.append_to_buffer(file, *buffer, write),
            LogTarget::Variable(_, rules) => {
                let mut line = Vec::new();
                if let Some(path) = path.filter(|_| write(&mut line)) {
                    let now_ms = myriad_net::clock::monotonic_ms();
                    self.has_put_lines.set(true);
                    self.threads.enqueue(Batch::Line { path, rules: *rules, now_ms, line });
                }
            }
            LogTarget::Syslog(syslog) => {
                let mut line = Vec::new();
                if write(&mut line) {
                    syslog.send_line(&line);
                }
            }
        }
    }

    fn append_to_buffer(
        &self,
        file: &Arc<LogFile>,
        buffered: Option<LogBuffering>,
        write: impl FnOnce(&mut Vec<u8>) -> bool,
    ) {
        let rules = buffered.unwrap_or(UNBUFFERED);
        let (number, mut buffers) = (file.number(), self.buffers.borrow_mut());
        if buffers.len() <= number {
            buffers.resize_with(number + 1, || None);
        }
        let buffer = buffers[number].get_or_insert_with(|| Buffer::new(file, rules));
        // A reload may have changed the buffering.
        buffer.rules = rules;
        buffer.is_unbuffered = buffered.is_none();
        let began = buffer.lines.len();
        if !write(&mut buffer.lines) {
            buffer.lines.truncate(began);
            return;
        }
        if began > 0 && buffer.lines.len() > rules.size {
            let next = buffer.lines.split_off(began);
            buffer.hand_over(&self.threads, None);
            buffer.lines.extend_from_slice(&next);
        } else if began > 0 {
            return;
        } else {
            self.filled.borrow_mut().push(number);
        }
        buffer.since_ms = myriad_net::clock::monotonic_ms();
        if let Some(flush_ms) = rules.flush_ms {
            self.soonest_ms.set(self.soonest_ms.get().min(flush_ms));
            self.flush_needed.notify_one();
        }
    }

    /// Passes the lines of each buffer to the threads when its flush time is over; never returns.
    pub async fn keep_flushing(&self) {
        loop {
            self.flush_needed.notified().await;
            // A buffer that gets its first line during the wait may have a shorter flush time.
            let wait_ms = self.soonest_ms.replace(LONGEST_WAIT_MS);
            tokio::time::sleep(Duration::from_millis(wait_ms)).await;
            self.flush(false);
            if let Some(soonest_ms) = self.next_flush_ms() {
                self.soonest_ms.set(self.soonest_ms.get().min(soonest_ms));
                self.flush_needed.notify_one();
            }
        }
    }

    /// Returns the shortest flush time of non-empty buffers in milliseconds; `None` if none has one.
    fn next_flush_ms(&self) -> Option<u64> {
        let buffers = self.buffers.borrow();
        let filled = self.filled.borrow();
        let filled = filled.iter().filter_map(|number| buffers[*number].as_ref());
        filled.filter_map(|buffer| buffer.rules.flush_ms).min()
    }

    /// Passes lines to the threads: those of buffers whose flush time is over, and those for which connections wait;
    /// all lines if `all` is true.
    pub fn flush(&self, all: bool) {
        self.write_for_waiters();
        let now = myriad_net::clock::monotonic_ms();
        let mut buffers = self.buffers.borrow_mut();
        self.filled.borrow_mut().retain(|number| {
            let Some(buffer) = &mut buffers[*number] else { return false };
            let limit = buffer.rules.flush_ms.unwrap_or(u64::MAX);
            let is_due = all || now.saturating_sub(buffer.since_ms) >= limit;
            if is_due {
                buffer.hand_over(&self.threads, None);
            }
            !is_due
        });
    }

    /// Returns a receiver that completes once the current lines of unbuffered logs, and of logs with variables in their
    /// path, are written or lost. The caller must ensure that [`LogWriter::write_for_waiters`] is called.
    ///
    /// `None` if there are no such lines, or for ten seconds after [`LogWriter::note_slow_disk`].
    pub fn wait(&self) -> Option<oneshot::Receiver<()>> {
        let buffers = self.buffers.borrow();
        let is_unbuffered =
            |number: &usize| buffers[*number].as_ref().is_some_and(|buffer| buffer.is_unbuffered);
        if !self.has_put_lines.get() && !self.filled.borrow().iter().any(is_unbuffered) {
            return None;
        }
        if myriad_net::clock::monotonic_ms() < self.slow_until_ms.get() {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        self.waiters.borrow_mut().push(sender);
        Some(receiver)
    }

    /// Records that the disk is slow: for the next ten seconds, connections close without waiting for their lines.
    pub fn note_slow_disk(&self) {
        self.slow_until_ms.set(myriad_net::clock::monotonic_ms() + SLOW_MS);
    }

    /// Passes the lines of unbuffered logs to the threads if any connection waits for them. The lines of logs with
    /// variables in their path were already passed.
    pub fn write_for_waiters(&self) {
        let waiters = self.waiters.take();
        if waiters.is_empty() {
            return;
        }
        let waiters = Arc::new(waiters);
        if self.has_put_lines.take() {
            self.threads.enqueue(Batch::Waiters(Arc::clone(&waiters)));
        }
        let mut buffers = self.buffers.borrow_mut();
        self.filled.borrow_mut().retain(|number| {
            let Some(buffer) = &mut buffers[*number] else { return false };
            if buffer.is_unbuffered {
                buffer.hand_over(&self.threads, Some(&waiters));
            }
            !buffer.is_unbuffered
        });
    }

    /// Passes all lines to the threads and closes the logs with variables in their path, so that they are opened again.
    pub fn reopen(&self) {
        self.flush(true);
        self.threads.enqueue(Batch::Reopen);
    }

    /// Passes all lines to the threads and waits until they are written or lost, for at most five seconds. Returns
    /// false if lines are still queued then.
    pub fn finish(&self) -> bool {
        self.flush(true);
        self.threads.wait_until_written(AT_THE_END)
    }
}

impl Buffer {
    fn new(file: &Arc<LogFile>, rules: LogBuffering) -> Self {
        Self { file: Arc::clone(file), lines: Vec::new(), since_ms: 0, rules, is_unbuffered: false }
    }

    fn hand_over(&mut self, threads: &LogThreads, waiters: Option<&Waiters>) {
        if self.lines.is_empty() {
            return;
        }
        // The next batch will probably have a similar size.
        let next = Vec::with_capacity(self.lines.len());
        let lines = std::mem::replace(&mut self.lines, next);
        let (file, gzip) = (Arc::clone(&self.file), self.rules.gzip);
        threads.enqueue(Batch::Lines { file, gzip, lines, waiters: waiters.cloned() });
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
    use myriad_encode::{Coding, StreamDecoder};

    use super::*;
    use crate::access::testing::template;
    use crate::testing::LogTestFolder;

    const RULES: LogBuffering = LogBuffering { size: 8, flush_ms: None, gzip: None };

    fn target(folder: &LogTestFolder, buffer: Option<LogBuffering>) -> LogTarget {
        LogTarget::File { file: folder.log("a.log"), buffer }
    }

    fn write(writer: &LogWriter, target: &LogTarget, line: &str) {
        write_at(writer, target, None, line);
    }

    fn write_at(writer: &LogWriter, target: &LogTarget, path: Option<PathBuf>, line: &str) {
        writer.line(target, path, |lines| {
            lines.extend_from_slice(line.as_bytes());
            true
        });
    }

    /// Returns the contents of the file once all lines are written.
    fn read(writer: &LogWriter, folder: &LogTestFolder, name: &str) -> String {
        assert!(writer.threads.wait_until_written(Duration::from_mins(1)));
        folder.read(name)
    }

    #[test]
    fn a_line_without_buffer_waits_for_no_other() {
        let folder = LogTestFolder::new("unbuffered");
        let writer = LogWriter::default();
        write(&writer, &target(&folder, None), "one\n");
        writer.flush(true);
        assert_eq!(read(&writer, &folder, "a.log"), "one\n");
    }

    #[test]
    fn the_line_that_does_not_fit_has_the_others_written_and_stays() {
        let folder = LogTestFolder::new("buffered");
        let (writer, target) = (LogWriter::default(), target(&folder, Some(RULES)));
        write(&writer, &target, "one\n");
        write(&writer, &target, "two\n");
        assert_eq!(read(&writer, &folder, "a.log"), "");
        write(&writer, &target, "3\n");
        assert_eq!(read(&writer, &folder, "a.log"), "one\ntwo\n");
        writer.flush(true);
        assert_eq!(read(&writer, &folder, "a.log"), "one\ntwo\n3\n");
        writer.flush(true);
        assert_eq!(read(&writer, &folder, "a.log"), "one\ntwo\n3\n", "written twice");
    }

    #[test]
    fn a_line_longer_than_the_buffer_is_whole() {
        let folder = LogTestFolder::new("long");
        let (writer, target) = (LogWriter::default(), target(&folder, Some(RULES)));
        write(&writer, &target, "longer than eight\n");
        write(&writer, &target, "x\n");
        assert_eq!(read(&writer, &folder, "a.log"), "longer than eight\n");
    }

    #[test]
    fn buffers_without_a_time_wait_for_space_or_the_end() {
        let folder = LogTestFolder::new("end");
        let writer = LogWriter::default();
        write(&writer, &target(&folder, Some(RULES)), "one\n");
        writer.flush(false);
        assert_eq!(read(&writer, &folder, "a.log"), "");
        let threads = Arc::clone(&writer.threads);
        drop(writer);
        assert!(threads.wait_until_written(Duration::from_mins(1)));
        assert_eq!(folder.read("a.log"), "one\n");
    }

    #[test]
    fn what_is_gathered_is_written_once_its_time_has_come() {
        let folder = LogTestFolder::new("time");
        let writer = LogWriter::default();
        let file = folder.log("a.log");
        let target = |flush_ms| {
            let buffer = Some(LogBuffering { flush_ms: Some(flush_ms), ..RULES });
            LogTarget::File { file: Arc::clone(&file), buffer }
        };
        write(&writer, &target(3_600_000), "one\n");
        writer.flush(false);
        assert_eq!(read(&writer, &folder, "a.log"), "");
        // A reload may shorten the flush time of buffered lines.
        write(&writer, &target(0), "2\n");
        writer.flush(false);
        assert_eq!(read(&writer, &folder, "a.log"), "one\n2\n");
    }

    #[test]
    fn a_buffer_is_flushed_without_a_further_line() {
        let folder = LogTestFolder::new("flushing");
        let writer = LogWriter::default();
        let target = target(&folder, Some(LogBuffering { flush_ms: Some(0), ..RULES }));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async {
            let mut flushing = pin!(writer.keep_flushing());
            for expected in ["one\n", "one\none\n"] {
                write(&writer, &target, "one\n");
                poll_fn(|cx| {
                    assert!(flushing.as_mut().poll(cx).is_pending(), "the flushing ended");
                    if read(&writer, &folder, "a.log") == expected {
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
    fn waiting_connections_are_woken_once_their_lines_are_written() {
        let folder = LogTestFolder::new("waiters");
        let writer = LogWriter::default();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let wait = |expected: [&str; 3]| {
            let waiting = [(); 2].map(|()| writer.wait().expect("waiting lines"));
            writer.write_for_waiters();
            writer.write_for_waiters();
            assert!(writer.wait().is_none(), "the lines are being written");
            for receiver in waiting {
                assert!(runtime.block_on(receiver).is_err(), "senders are dropped");
            }
            assert_eq!(["a.log", "b.log", "c.log"].map(|name| folder.read(name)), expected);
        };
        let unbuffered = target(&folder, None);
        let buffered = LogTarget::File { file: folder.log("b.log"), buffer: Some(RULES) };
        let variable = LogTarget::Variable(template("$plain"), None);
        folder.log("c.log");
        assert!(writer.wait().is_none());
        write(&writer, &buffered, "held\n");
        assert!(writer.wait().is_none());
        write(&writer, &unbuffered, "one\n");
        wait(["one\n", "", ""]);
        write_at(&writer, &variable, Some(folder.path("c.log")), "two\n");
        wait(["one\n", "", "two\n"]);
        write(&writer, &unbuffered, "three\n");
        write_at(&writer, &variable, Some(folder.path("c.log")), "four\n");
        wait(["one\nthree\n", "", "two\nfour\n"]);
        write(&writer, &unbuffered, "five\n");
        writer.note_slow_disk();
        assert!(writer.wait().is_none());
    }

    #[test]
    fn logs_that_name_one_file_share_a_buffer() {
        let folder = LogTestFolder::new("shared");
        let writer = LogWriter::default();
        let file = folder.log("a.log");
        let targets = [(); 2].map(|()| LogTarget::File { file: Arc::clone(&file), buffer: Some(RULES) });
        write(&writer, &targets[0], "one\n");
        write(&writer, &targets[1], "two\n");
        write(&writer, &targets[0], "3\n");
        assert_eq!(read(&writer, &folder, "a.log"), "one\ntwo\n");
    }

    fn gunzip(member: &[u8]) -> Vec<u8> {
        let (mut decoder, mut text) = (StreamDecoder::new(Coding::Gzip, 100).unwrap(), Vec::new());
        decoder.push(member, &mut text).unwrap();
        decoder.finish().unwrap();
        text
    }

    #[test]
    fn each_buffer_is_a_member_of_a_gzip_file() {
        let folder = LogTestFolder::new("gzip");
        let writer = LogWriter::default();
        let target = target(&folder, Some(LogBuffering { gzip: Some(6), ..RULES }));
        write(&writer, &target, "one\n");
        writer.flush(true);
        assert!(writer.finish());
        let first = folder.bytes("a.log");
        assert_eq!(gunzip(&first), b"one\n");
        write(&writer, &target, "two\n");
        writer.flush(true);
        assert!(writer.finish());
        let both = folder.bytes("a.log");
        assert_eq!(gunzip(&both[first.len()..]), b"two\n");
    }

    #[test]
    fn variable_log_path_is_opened_per_request_and_failure_reported() {
        let folder = LogTestFolder::new("variable");
        let writer = LogWriter::default();
        let target = LogTarget::Variable(template("$plain"), None);
        write_at(&writer, &target, Some(folder.path("b.log")), "one\n");
        write_at(&writer, &target, None, "no path, no log\n");
        assert_eq!(read(&writer, &folder, "b.log"), "one\n");
        write_at(&writer, &target, Some(folder.path("missing/b.log")), "one\n");
        assert!(writer.finish());
        let reported = writer.threads.losses().remove(0).to_string();
        assert!(
            reported.contains("failed (2: No such file or directory) while logging request, 1 line lost"),
            "{reported}"
        );
    }

    #[test]
    fn reopened_logs_follow_their_path() {
        let folder = LogTestFolder::new("anew");
        let writer = LogWriter::default();
        let rules = OpenLogFileCache { max: 9, inactive: 3_600_000, min_uses: 1, valid: 3_600_000 };
        let target = LogTarget::Variable(template("$plain"), Some(rules));
        let path = folder.path("a.log");
        write_at(&writer, &target, Some(path.clone()), "one\n");
        assert!(writer.finish());
        std::fs::rename(&path, folder.path("a.log.1")).unwrap();
        write_at(&writer, &target, Some(path.clone()), "two\n");
        assert_eq!(read(&writer, &folder, "a.log.1"), "one\ntwo\n");
        writer.reopen();
        write_at(&writer, &target, Some(path.clone()), "three\n");
        assert_eq!(read(&writer, &folder, "a.log"), "three\n");
    }

    #[test]
    fn a_line_that_cannot_be_made_is_taken_back() {
        let folder = LogTestFolder::new("taken-back");
        let writer = LogWriter::default();
        let target = target(&folder, Some(RULES));
        write(&writer, &target, "one\n");
        writer.line(&target, None, |lines| {
            lines.extend_from_slice(b"half a li");
            false
        });
        write(&writer, &target, "2\n");
        writer.flush(true);
        assert_eq!(read(&writer, &folder, "a.log"), "one\n2\n");
    }
}
