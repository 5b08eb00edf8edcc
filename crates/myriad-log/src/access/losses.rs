//! Lost access log lines and their messages for the error log.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use myriad_conf::settings::Level;

/// Maximum number of files reported separately between two reports; further files are reported together.
const MOST_FILES: usize = 32;

/// Reason for lost lines.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Why {
    /// Too many bytes were already queued.
    Behind(usize),
    /// `write()` failed.
    Written(String),
    /// `open()` failed for a path with variables.
    Opened(String),
}

/// Lost lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    path: PathBuf,
    /// Number of lines.
    pub lines: u64,
    why: Why,
}

impl Loss {
    pub(super) fn behind(waiting: usize) -> Self {
        Self::of(Why::Behind(waiting))
    }

    pub(super) fn written(error: &io::Error) -> Self {
        Self::of(Why::Written(shown(error)))
    }

    pub(super) fn opened(error: &io::Error) -> Self {
        Self::of(Why::Opened(shown(error)))
    }

    /// Returns the level of the message, as in nginx: a client may be the cause of a failed `open()`.
    pub(crate) fn level(&self) -> Level {
        if matches!(self.why, Why::Opened(_)) { Level::Crit } else { Level::Alert }
    }

    fn of(why: Why) -> Self {
        Self { path: PathBuf::new(), lines: 0, why }
    }
}

/// Formats a system error like nginx: `28: No space left on device`.
fn shown(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    match error.raw_os_error() {
        Some(number) => format!("{number}: {text}"),
        None => text.to_owned(),
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, lines) = (self.path.display(), Lines(self.lines));
        match &self.why {
            Why::Behind(waiting) => write!(
                f,
                "{lines} of the access log \"{path}\" lost: its disk is too slow, {} MB are waiting to be written; check the \
                     disk, or write less to it (\"sample=\", \"gzip\" of access_log)",
                waiting >> 20
            ),
            Why::Written(error) => write!(
                f,
                "write() to \"{path}\" failed ({error}), {lines} lost; free space on that disk, or log to another disk"
            ),
            Why::Opened(error) => write!(
                f,
                "open() \"{path}\" failed ({error}) while logging request, {lines} lost; create its folder, and allow the user \
                     of the worker processes to write to it"
            ),
        }
    }
}

struct Lines(u64);

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.0 == 1 { "line" } else { "lines" };
        write!(f, "{} {word}", self.0)
    }
}

/// Losses since the last report, with a single entry for each file.
#[derive(Default)]
pub(super) struct Losses {
    files: Vec<Loss>,
}

impl Losses {
    /// Counts the lines in `bytes`.
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
        losses.add(Path::new("/a"), b"1\n2\n", Loss::behind(16 << 20));
        losses.add(Path::new("/a"), b"3\n", Loss::behind(16 << 20));
        losses.add(Path::new("/b"), b"1\n", Loss::opened(&io::Error::from_raw_os_error(2)));
        losses.add(Path::new("/c"), b"", Loss::behind(0));
        let told: Vec<_> = losses.take().iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 2);
        assert!(
            told[0].starts_with("3 lines of the access log \"/a\" lost")
                && told[0].contains("16 MB are waiting")
        );
        assert!(
            told[1].starts_with("open() \"/b\" failed (2: No such file or directory) while logging request")
        );
        assert!(losses.take().is_empty());
    }

    #[test]
    fn made_up_paths_take_no_more_than_their_room() {
        let mut losses = Losses::default();
        for number in 0..1000 {
            losses.add(Path::new(&format!("/{number}")), b"x\n", Loss::behind(0));
        }
        let told = losses.take();
        assert_eq!((told.len(), told.iter().map(|loss| loss.lines).sum::<u64>()), (MOST_FILES, 1000));
    }
}
