//! Reading of the sections of page files.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;

use crate::index::FileName;

use crate::faults::Operation;
use crate::files::FolderLayout;
use crate::format::{FormatError, HEADER, HeadSections, Header, read_labels};

/// Maximum number of bytes in a page file besides the body. Files with more are rejected.
pub(super) const MAX_AROUND_BODY: u64 = 256 << 20;

/// Reason why a page file could not be read.
#[derive(Debug)]
pub(crate) enum ReadFailure {
    /// The file does not exist, or contains another body than the one to read.
    Missing,
    /// The file is damaged, or of another program, version or seed.
    Invalid(FormatError),
    /// A system error occurred.
    Failed(io::Error),
}

impl From<FormatError> for ReadFailure {
    fn from(error: FormatError) -> Self {
        Self::Invalid(error)
    }
}

impl From<io::Error> for ReadFailure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Self::Missing,
            // The file was truncated after its length was read.
            ErrorKind::UnexpectedEof => Self::Invalid(FormatError::Length),
            _ => Self::Failed(error),
        }
    }
}

/// Opens a file for reading. Fails if the file cannot be opened or its name is a symbolic link.
pub(crate) fn open(files: &FolderLayout, name: FileName) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let path = files.path(name);
    files.faults.check(Operation::Open, &path)?;
    File::options().read(true).custom_flags(flags.bits() as i32).open(path)
}

/// Reads and verifies the header of an open page file. Returns the header and the length of the file in bytes.
pub(crate) fn header(files: &FolderLayout, file: &File) -> Result<(Header, u64), ReadFailure> {
    let known = file.metadata()?;
    if !known.is_file() {
        return Err(FormatError::Foreign.into());
    }
    let mut bytes = [0; HEADER];
    files.faults.check(Operation::Read, &files.root)?;
    file.read_exact_at(&mut bytes, 0)?;
    Ok((Header::parse(&bytes, known.len(), files.version)?, known.len()))
}

/// Reads and verifies the labels in a page file. Returns the hash of the page's variant and the labels (hashes by which
/// purges find it).
pub(crate) fn labels(file: &File, header: &Header) -> Result<(u64, Box<[u64]>), ReadFailure> {
    let mut bytes = vec![0; header.labels_len as usize];
    file.read_exact_at(&mut bytes, header.head_at())?;
    Ok(read_labels(&bytes)?)
}

/// Reads and verifies the sections of a file from the labels to the metadata, and returns the result of `judge` on
/// them.
pub(crate) fn head<T>(
    files: &FolderLayout,
    name: FileName,
    judge: impl FnOnce(&Header, &HeadSections<'_>) -> T,
) -> Result<T, ReadFailure> {
    let file = open(files, name)?;
    let (header, _) = header(files, &file)?;
    if header.head_len() > MAX_AROUND_BODY {
        return Err(FormatError::Length.into());
    }
    let mut bytes = vec![0; header.head_len() as usize];
    file.read_exact_at(&mut bytes, header.head_at())?;
    let head = HeadSections::parse(&header, &bytes)?;
    Ok(judge(&header, &head))
}
