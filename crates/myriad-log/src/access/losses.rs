//! Access log lines that could not be written, and the messages about them for the error log.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use myriad_conf::settings::LogLevel;

/// Maximum number of files with a separate entry per report. Losses of further files are added to the last entry.
const MOST_FILES: usize = 32;

/// Reason why access log lines were lost.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LossReason {
    /// A limit of queued bytes was reached; contains the number of bytes that were waiting in the queue of the file.
    QueueFull(usize),
    /// `write()` failed; contains the system error.
    WriteFailed(String),
    /// The file of a path that contains variables could not be opened or written.
    OpenFailed(String),
}

/// Access log lines lost for one file since the last report, with the reason of the last loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    path: PathBuf,
    /// Number of lines lost for the file. In the last entry of a report with the maximum number of files, lost lines of
    /// further files are included.
    pub lines: u64,
    why: LossReason,
}

impl Loss {
    /// Creates a loss whose reason is that too many bytes are waiting to be written; `waiting` is their number in the
    /// queue of the file.
    pub(super) fn queue_full(waiting: usize) -> Self {
        Self::of(LossReason::QueueFull(waiting))
    }

    pub(super) fn write_failed(error: &io::Error) -> Self {
        Self::of(LossReason::WriteFailed(system_error_text(error)))
    }

    pub(super) fn open_failed(error: &io::Error) -> Self {
        Self::of(LossReason::OpenFailed(system_error_text(error)))
    }

    /// Returns the log level of the message about this loss, as in nginx: `crit` if a file with variables in its path
    /// could not be opened or written, because a client may have caused the failure; otherwise the more severe `alert`.
    pub(crate) fn level(&self) -> LogLevel {
        if matches!(self.why, LossReason::OpenFailed(_)) { LogLevel::Crit } else { LogLevel::Alert }
    }

    fn of(why: LossReason) -> Self {
        Self { path: PathBuf::new(), lines: 0, why }
    }
}

/// Formats a system error as nginx does: `28: No space left on device`.
fn system_error_text(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    match error.raw_os_error() {
        Some(number) => format!("{number}: {text}"),
        None => text.to_owned(),
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, lines) = (self.path.display(), LineCount(self.lines));
        match &self.why {
            LossReason::QueueFull(waiting) => write!(
                f,
                "{lines} of the access log \"{path}\" lost: its disk is too slow, {} MB are waiting to be written; check the \
                     disk, or write less to it (\"sample=\", \"gzip\" of access_log)",
                waiting >> 20
            ),
            LossReason::WriteFailed(error) => write!(
                f,
                "write() to \"{path}\" failed ({error}), {lines} lost; free space on that disk, or log to another disk"
            ),
            LossReason::OpenFailed(error) => write!(
                f,
                "open() \"{path}\" failed ({error}) while logging request, {lines} lost; create its folder, and allow the user \
                     of the worker processes to write to it"
            ),
        }
    }
}

struct LineCount(u64);

impl fmt::Display for LineCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.0 == 1 { "line" } else { "lines" };
        write!(f, "{} {word}", self.0)
    }
}

/// Lost lines since the last report, with one entry per file. If more than `MOST_FILES` files have losses, those of
/// further files are added to the last entry.
#[derive(Default)]
pub(super) struct Losses {
    files: Vec<Loss>,
}

impl Losses {
    /// Adds the number of complete lines in `bytes` to the losses of the file at `path`, with the reason `why`. If the
    /// report already contains [`MOST_FILES`] other files, adds it to the last entry instead.
    pub(super) fn add(&mut self, path: &Path, bytes: &[u8], why: Loss) {
        let lines = bytes.split(|&byte| byte == b'\n').count().saturating_sub(1) as u64;
        if lines == 0 {
            return;
        }
        let known = self.files.iter().position(|loss| loss.path == path);
        let at = known.or_else(|| (self.files.len() == MOST_FILES).then_some(MOST_FILES - 1));
        match at.and_then(|at| self.files.get_mut(at)) {
            Some(loss) => {
                loss.lines += lines;
                loss.why = why.why;
            }
            None => self.files.push(Loss { path: path.to_owned(), lines, ..why }),
        }
    }

    /// Returns the losses since the last report and starts a new report.
    pub(super) fn take(&mut self) -> Vec<Loss> {
        std::mem::take(&mut self.files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_reports_its_losses_once_with_remedy() {
        let mut losses = Losses::default();
        losses.add(Path::new("/a"), b"1\n2\n", Loss::queue_full(16 << 20));
        losses.add(Path::new("/a"), b"3\n", Loss::queue_full(16 << 20));
        losses.add(Path::new("/b"), b"1\n", Loss::open_failed(&io::Error::from_raw_os_error(2)));
        losses.add(Path::new("/c"), b"", Loss::queue_full(0));
        let reported: Vec<_> = losses.take().iter().map(ToString::to_string).collect();
        assert_eq!(reported.len(), 2);
        assert!(
            reported[0].starts_with("3 lines of the access log \"/a\" lost")
                && reported[0].contains("16 MB are waiting")
        );
        assert!(
            reported[1]
                .starts_with("open() \"/b\" failed (2: No such file or directory) while logging request")
        );
        assert!(losses.take().is_empty());
    }

    #[test]
    fn made_up_paths_take_no_more_than_their_room() {
        let mut losses = Losses::default();
        for number in 0..1000 {
            losses.add(Path::new(&format!("/{number}")), b"x\n", Loss::queue_full(0));
        }
        let reported = losses.take();
        assert_eq!((reported.len(), reported.iter().map(|loss| loss.lines).sum::<u64>()), (MOST_FILES, 1000));
    }
}
