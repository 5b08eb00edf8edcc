//! Threads that write access logs. Workers queue lines and never wait for a disk.
//!
//! ```text
//! worker: LogWriter --batches--> LogThreads: one queue per file --> thread --> LogFile
//!                                  | queue full: batch dropped and counted
//! ```
//! All logs with variables in their path share one queue.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use myriad_conf::settings::OpenLogFileCache;
use myriad_encode::{Coding, CompressionLevel, compress};
use parking_lot::{Condvar, Mutex, MutexGuard};

use tokio::sync::oneshot;

use super::losses::{Loss, Losses};
use super::open_files::OpenLogs;
use crate::log_file::LogFile;

/// Maximum number of threads that write access logs. A disk that does not respond blocks one thread for each log file
/// on it.
const MOST_THREADS: usize = 4;

/// Maximum numbers of queued bytes of access log lines. A batch for an empty queue is accepted even if it exceeds them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Maximum number of bytes queued for one file.
    pub(crate) file: usize,
    /// Maximum number of bytes queued for all files together.
    pub(crate) all: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { file: 16 << 20, all: 32 << 20 }
    }
}

/// Senders of the connections that wait until their lines are written. They are dropped with the last batch that
/// contains such lines, whether it was written or lost; this wakes the receivers.
pub(crate) type Waiters = Arc<Vec<oneshot::Sender<()>>>;

/// Unit of work in a queue of the threads that write access logs.
pub(crate) enum Batch {
    /// Lines of one file. With `gzip` they are compressed to one gzip member.
    Lines {
        file: Arc<LogFile>,
        gzip: Option<u8>,
        lines: Vec<u8>,
        #[expect(dead_code, reason = "held until dropped")]
        waiters: Option<Waiters>,
    },
    /// Connections that wait until earlier lines of logs with variables in their path are written.
    Waiters(#[expect(dead_code, reason = "held until dropped")] Waiters),
    /// Line of a log with variables in its path.
    Line { path: PathBuf, rules: Option<OpenLogFileCache>, now_ms: u64, line: Vec<u8> },
    /// Request to close the logs with variables in their path, so that they are opened again.
    Reopen,
}

impl Batch {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Lines { lines, .. } => lines,
            Self::Line { line, .. } => line,
            Self::Reopen | Self::Waiters(_) => b"",
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Lines { file, .. } => file.path(),
            Self::Line { path, .. } => path,
            Self::Reopen | Self::Waiters(_) => Path::new(""),
        }
    }

    fn key(&self) -> QueueKey {
        match self {
            Self::Lines { file, .. } => QueueKey::File(file.number()),
            Self::Line { .. } | Self::Reopen | Self::Waiters(_) => QueueKey::Variable,
        }
    }
}

/// Key of the queue to which a batch belongs: one queue for each file, and one for all logs with variables in their
/// path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum QueueKey {
    File(usize),
    /// Queue of all logs with variables in their path, which share a cache of open files.
    Variable,
}

#[derive(Default)]
struct WriteQueue {
    batches: VecDeque<Batch>,
    /// Number of bytes of the lines in the queue, including those being written.
    bytes: usize,
    /// True while a thread writes batches of this queue. Only one thread at a time does, to preserve the order of
    /// lines.
    is_taken: bool,
}

#[derive(Default)]
struct State {
    queues: HashMap<QueueKey, WriteQueue>,
    /// Queues with batches that no thread has taken.
    ready: VecDeque<QueueKey>,
    /// Number of bytes of the lines in all queues, including those being written.
    bytes: usize,
    /// Number of threads that wait for a queue in `ready`.
    idle: usize,
    /// Number of running threads.
    threads: usize,
    /// Set at shutdown: the threads terminate when no queue is ready.
    is_over: bool,
    losses: Losses,
}

struct Shared {
    state: Mutex<State>,
    /// Wakes threads when a queue is added to `ready`, and at shutdown.
    wake: Condvar,
    /// Wakes waiters when all batches of a queue are written or lost.
    written: Condvar,
    open: Mutex<OpenLogs>,
    bounds: Bounds,
}

/// Threads that write the access logs of a process. They start on demand. When this value is dropped, they write the
/// queued lines and then terminate.
pub struct LogThreads {
    shared: Arc<Shared>,
}

impl Default for LogThreads {
    fn default() -> Self {
        Self::within(Bounds::default())
    }
}

impl LogThreads {
    /// Creates an instance with limits of the queued bytes; starts no thread yet.
    pub(crate) fn within(bounds: Bounds) -> Self {
        let shared = Shared {
            state: Mutex::default(),
            wake: Condvar::new(),
            written: Condvar::new(),
            open: Mutex::default(),
            bounds,
        };
        Self { shared: Arc::new(shared) }
    }

    /// Queues a batch. If its queue is not empty and a limit of [`Bounds`] would be exceeded, drops the batch and
    /// counts its lines as lost.
    pub(crate) fn enqueue(&self, batch: Batch) {
        let (key, bytes) = (batch.key(), batch.bytes().len());
        let mut state = self.shared.state.lock();
        let state = &mut *state;
        let waiting = state.queues.get(&key).map_or(0, |queue| queue.bytes);
        let has_room = bytes == 0
            || waiting + bytes <= self.shared.bounds.file && state.bytes + bytes <= self.shared.bounds.all;
        // A batch that is larger than the limit is accepted if its queue is empty, and one without lines always is.
        if !has_room && waiting > 0 {
            state.losses.add(batch.path(), batch.bytes(), Loss::queue_full(waiting));
            return;
        }
        state.bytes += bytes;
        let queue = state.queues.entry(key).or_default();
        queue.bytes += bytes;
        queue.batches.push_back(batch);
        if queue.batches.len() == 1 && !queue.is_taken {
            state.ready.push_back(key);
            self.wake_or_start_thread(state);
        }
    }

    /// Wakes an idle thread. Before that, starts a thread if there are fewer idle threads than ready queues, unless
    /// [`MOST_THREADS`] are running.
    fn wake_or_start_thread(&self, state: &mut State) {
        if state.idle >= state.ready.len() || state.threads == MOST_THREADS {
            self.shared.wake.notify_one();
            return;
        }
        let shared = Arc::clone(&self.shared);
        let name = format!("log-{}", state.threads);
        // If no thread can be started, the existing threads do the work. If there are none, lines are lost once the
        // queues are full.
        let started = std::thread::Builder::new().name(name).spawn(move || shared.write_queues());
        state.threads += usize::from(started.is_ok());
        self.shared.wake.notify_one();
    }

    /// Waits until all queued batches are written or lost, for at most `most`. Returns false if batches are still
    /// queued then.
    pub fn wait_until_written(&self, most: Duration) -> bool {
        let end = Instant::now() + most;
        let mut state = self.shared.state.lock();
        while !state.queues.is_empty() {
            if self.shared.written.wait_until(&mut state, end).timed_out() {
                return state.queues.is_empty();
            }
        }
        true
    }

    /// Returns the lost lines since the last call, with one entry per file. With more than 32 files, the last entry
    /// also counts the lines of further files.
    pub fn losses(&self) -> Vec<Loss> {
        self.shared.state.lock().losses.take()
    }
}

impl Drop for LogThreads {
    fn drop(&mut self) {
        self.shared.state.lock().is_over = true;
        self.shared.wake.notify_all();
    }
}

impl Shared {
    /// Main loop of a thread: writes batches of access log lines until shutdown.
    fn write_queues(&self) {
        let mut state = self.state.lock();
        loop {
            let Some(key) = state.ready.pop_front() else {
                if state.is_over {
                    return;
                }
                state.idle += 1;
                self.wake.wait(&mut state);
                state.idle -= 1;
                continue;
            };
            let Some(queue) = state.queues.get_mut(&key) else { continue };
            queue.is_taken = true;
            let batches = std::mem::take(&mut queue.batches);
            for batch in batches {
                let (written, bytes) = MutexGuard::unlocked(&mut state, || {
                    let written = self.write(&batch);
                    let bytes = batch.bytes().len();
                    (written.map_err(|(from, why)| (batch, from, why)), bytes)
                });
                if let Err((batch, from, why)) = written {
                    state.losses.add(batch.path(), &batch.bytes()[from..], why);
                }
                state.bytes -= bytes;
                if let Some(queue) = state.queues.get_mut(&key) {
                    queue.bytes -= bytes;
                }
            }
            if let Some(queue) = state.queues.get_mut(&key) {
                queue.is_taken = false;
                if queue.batches.is_empty() {
                    state.queues.remove(&key);
                    self.written.notify_all();
                } else {
                    state.ready.push_back(key);
                }
            }
        }
    }

    /// Writes a batch. The error contains the offset in the batch's lines from which lines count as lost (0 with `gzip`
    /// or a path with variables), and the reason.
    fn write(&self, batch: &Batch) -> Result<(), (usize, Loss)> {
        match batch {
            Batch::Waiters(_) => Ok(()),
            Batch::Lines { file, gzip, lines, .. } => {
                // Each batch becomes a separate gzip member; concatenated members are a valid file (RFC 1952 section
                // 2.2).
                let packed = gzip
                    .and_then(|level| compress(Coding::Gzip, CompressionLevel::Number(level), lines).ok());
                let cut = match &packed {
                    // Of a truncated member nothing can be read.
                    Some(packed) => file.append(packed).map_err(|cut| (0, cut.error)),
                    None => file.append(lines).map_err(|cut| (cut.written, cut.error)),
                };
                cut.map_err(|(from, error)| (from, Loss::write_failed(&error)))
            }
            Batch::Line { path, rules, now_ms, line } => {
                let written = self.open.lock().append(path, rules.as_ref(), *now_ms, line);
                written.map_err(|error: io::Error| (0, Loss::open_failed(&error)))
            }
            Batch::Reopen => {
                self.open.lock().close();
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::OwnedFd;

    use super::*;
    use crate::testing::LogTestFolder;

    const LONG: Duration = Duration::from_mins(1);

    fn lines(file: &Arc<LogFile>, lines: &[u8]) -> Batch {
        Batch::Lines { file: Arc::clone(file), gzip: None, lines: lines.to_vec(), waiters: None }
    }

    /// Returns a pipe as a log file, and its reading end. Once it is full, writes block until it is read.
    fn pipe(name: &str) -> (Arc<LogFile>, std::fs::File) {
        let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
        (Arc::new(LogFile::new(name.into(), writer)), std::fs::File::from(reader))
    }

    #[test]
    fn lines_of_a_file_keep_their_order() {
        let folder = LogTestFolder::new("order");
        let (threads, file) = (LogThreads::default(), folder.log("a.log"));
        let mut expected = String::new();
        for number in 0..2000 {
            let line = format!("{number}\n");
            threads.enqueue(lines(&file, line.as_bytes()));
            expected.push_str(&line);
        }
        assert!(threads.wait_until_written(LONG));
        assert_eq!(folder.read("a.log"), expected);
        assert!(threads.losses().is_empty());
    }

    #[test]
    fn a_disk_that_hangs_holds_up_no_other_file_and_what_finds_no_room_is_counted() {
        let folder = LogTestFolder::new("hangs");
        let threads = LogThreads::within(Bounds { file: 1 << 20, all: 4 << 20 });
        let (slow, mut reader) = pipe("slow.log");
        let line = [[b'x'; 1023].as_slice(), b"\n"].concat();
        // More lines than the pipe and the queue can hold.
        let put = 4096;
        (0..put).for_each(|_| threads.enqueue(lines(&slow, &line)));
        let quick = folder.log("quick.log");
        threads.enqueue(lines(&quick, b"one\n"));
        while folder.read("quick.log") != "one\n" {
            std::thread::yield_now();
        }
        let lost = threads.losses();
        assert_eq!(lost.len(), 1);
        let count = lost[0].lines;
        assert!(count > 0 && lost[0].to_string().contains("slow.log"), "{}", lost[0]);
        // The lines that were not lost arrive once the pipe is read.
        let mut arrived = vec![0; (put - count as usize) * line.len()];
        reader.read_exact(&mut arrived).expect("the rest");
        assert!(threads.wait_until_written(LONG) && threads.losses().is_empty());
    }

    #[test]
    fn request_to_reopen_is_accepted_while_the_queue_is_full() {
        let folder = LogTestFolder::new("reopen");
        let threads = LogThreads::within(Bounds { file: 4, all: 8 });
        let open = threads.shared.open.lock();
        let line = b"longer than the limit\n".to_vec();
        threads.enqueue(Batch::Line {
            path: folder.log("a.log").path().into(),
            rules: None,
            now_ms: 0,
            line,
        });
        let is_written = || threads.shared.state.lock().queues[&QueueKey::Variable].is_taken;
        while !is_written() {
            std::thread::yield_now();
        }
        threads.enqueue(Batch::Reopen);
        assert!(matches!(
            threads.shared.state.lock().queues[&QueueKey::Variable].batches.front(),
            Some(Batch::Reopen)
        ));
        drop(open);
        assert!(threads.wait_until_written(LONG) && threads.losses().is_empty());
    }

    #[test]
    fn full_disk_is_reported_with_lost_line_count() {
        let threads = LogThreads::default();
        let full: OwnedFd =
            std::fs::OpenOptions::new().append(true).open("/dev/full").expect("/dev/full").into();
        let file = Arc::new(LogFile::new("/dev/full".into(), full));
        threads.enqueue(lines(&file, b"one\ntwo\n"));
        threads.enqueue(lines(&file, b"three\n"));
        assert!(threads.wait_until_written(LONG));
        let reported: Vec<_> = threads.losses().iter().map(ToString::to_string).collect();
        assert_eq!(reported.len(), 1);
        assert!(
            reported[0].starts_with("write() to \"/dev/full\" failed (28: No space left on device), 3 lines"),
            "{reported:?}"
        );
    }

    #[test]
    fn pending_lines_are_written_after_last_sender_is_dropped() {
        let folder = LogTestFolder::new("left");
        let (threads, file) = (LogThreads::default(), folder.log("a.log"));
        threads.enqueue(lines(&file, b"one\n"));
        drop(threads);
        while folder.read("a.log") != "one\n" {
            std::thread::yield_now();
        }
    }
}
