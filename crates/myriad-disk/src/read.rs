//! Reading of headers and other sections of files.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;

use crate::index::Name;

use crate::faults::Operation;
use crate::files::Files;
use crate::format::{FormatError, HEADER, Head, Header, read_labels};

/// Maximum number of bytes around a body in a file written by this program.
pub(super) const MOST_AROUND: u64 = 256 << 20;

/// Reason why a file was not read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// The file does not exist.
    Missing,
    /// The file is invalid.
    Unfit(FormatError),
    /// The system reported an error.
    Failed(io::Error),
}

impl From<FormatError> for Unread {
    fn from(error: FormatError) -> Self {
        Self::Unfit(error)
    }
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Self::Missing,
            // Truncated between the read of its length and the read of its bytes.
            ErrorKind::UnexpectedEof => Self::Unfit(FormatError::Length),
            _ => Self::Failed(error),
        }
    }
}

/// Opens a file without following a symbolic link in its place.
pub(crate) fn open(files: &Files, name: Name) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let path = files.path(name);
    files.faults.pass(Operation::Open, &path)?;
    File::options().read(true).custom_flags(flags.bits() as i32).open(path)
}

/// Reads and checks a header.
pub(crate) fn header(files: &Files, file: &File) -> Result<(Header, u64), Unread> {
    let known = file.metadata()?;
    if !known.is_file() {
        return Err(FormatError::Foreign.into());
    }
    let mut bytes = [0; HEADER];
    files.faults.pass(Operation::Read, &files.root)?;
    file.read_exact_at(&mut bytes, 0)?;
    Ok((Header::parse(&bytes, known.len(), files.version)?, known.len()))
}

/// Reads the hash of the variant and the labels that belong to a header.
pub(crate) fn labels(file: &File, header: &Header) -> Result<(u64, Box<[u64]>), Unread> {
    let mut bytes = vec![0; header.labels_len as usize];
    file.read_exact_at(&mut bytes, header.head_at())?;
    Ok(read_labels(&bytes)?)
}

/// Reads the sections of a file from the labels to the metadata, and passes them to `judge`.
pub(crate) fn head<T>(
    files: &Files,
    name: Name,
    judge: impl FnOnce(&Header, &Head<'_>) -> T,
) -> Result<T, Unread> {
    let file = open(files, name)?;
    let (header, _) = header(files, &file)?;
    if header.head_len() > MOST_AROUND {
        return Err(FormatError::Length.into());
    }
    let mut bytes = vec![0; header.head_len() as usize];
    file.read_exact_at(&mut bytes, header.head_at())?;
    let head = Head::parse(&header, &bytes)?;
    Ok(judge(&header, &head))
}
