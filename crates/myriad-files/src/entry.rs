//! State of a path in the cache, with the contents or descriptor of its file.

use std::fs::{Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use myriad_base::calendar::write_http_date;
use myriad_encode::Coding;
use myriad_policy::EntityTag;
use myriad_script::FileTest;
use parking_lot::Mutex;
use rustix::fs::OFlags;

use crate::system_error::SystemError;

/// Maximum size in bytes of a file to cache its contents. For larger files, the open descriptor is cached.
const IN_MEMORY: u64 = 1 << 20;

/// Type of the file at a path, or the reason why it cannot be accessed.
pub enum PathKind {
    /// Regular file.
    File(Box<FileEntry>),
    /// Directory.
    Directory,
    /// Neither file nor directory, such as a socket or device.
    Other,
    /// The path cannot be accessed, for this reason.
    Missing(SystemError),
}

/// State of a path at its last check.
pub struct PathEntry {
    /// Type of the file at the path, or the reason why it cannot be accessed.
    pub kind: PathKind,
    /// True if the file has any execute permission (for owner, group or others).
    pub executable: bool,
    /// Time of the last check in milliseconds since the Unix epoch; 0 forces a check.
    pub(crate) checked_ms: AtomicU64,
    /// Time of the last use in milliseconds since the Unix epoch, with a precision of a second.
    used_ms: AtomicU64,
    pub(crate) identity: FileIdentity,
}

/// Identity and version of a file. A file with equal values is considered unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
    length: u64,
    modified_s: i64,
    modified_ns: i64,
    changed_s: i64,
    changed_ns: i64,
    mode: u32,
}

impl FileIdentity {
    /// Returns the fields of the identity except the mode.
    fn parts(&self) -> [u64; 7] {
        [
            self.device,
            self.inode,
            self.length,
            self.modified_s.cast_unsigned(),
            self.modified_ns.cast_unsigned(),
            self.changed_s.cast_unsigned(),
            self.changed_ns.cast_unsigned(),
        ]
    }
}

/// Metadata of a regular file, and its contents or descriptor once loaded.
pub struct FileEntry {
    /// Length of the file in bytes.
    pub length: u64,
    /// Modification time of the file in seconds since the Unix epoch; 0 if it is before.
    pub modified_s: u64,
    /// Modification time of the file as an HTTP date, for `Last-Modified`.
    pub modified: Box<[u8]>,
    /// Entity tag of the file in the format of nginx: modification time and length in hexadecimal.
    pub tag: EntityTag,
    identity: FileIdentity,
    weight: FileWeight,
    contents: OnceLock<Bytes>,
    descriptor: OnceLock<Arc<OwnedFd>>,
    encoded: Mutex<[Option<EncodedContents>; 4]>,
}

/// Totals of the files in one shard of the cache, including evicted files that are being sent: bytes of contents and
/// encodings, and open descriptors.
#[derive(Default)]
pub(crate) struct CachedFileTotals {
    pub(crate) bytes: AtomicUsize,
    pub(crate) descriptors: AtomicUsize,
}

/// Share of a file in [`CachedFileTotals`]. Subtracted when the file is dropped.
struct FileWeight {
    total: Arc<CachedFileTotals>,
    bytes: AtomicUsize,
    descriptors: AtomicUsize,
}

impl FileWeight {
    fn of(total: &Arc<CachedFileTotals>) -> Self {
        Self { total: Arc::clone(total), bytes: AtomicUsize::new(0), descriptors: AtomicUsize::new(0) }
    }

    fn add_bytes(&self, count: usize) {
        self.bytes.fetch_add(count, Relaxed);
        self.total.bytes.fetch_add(count, Relaxed);
    }

    fn remove_bytes(&self, count: usize) {
        self.bytes.fetch_sub(count, Relaxed);
        self.total.bytes.fetch_sub(count, Relaxed);
    }

    fn add_descriptor(&self) {
        self.descriptors.fetch_add(1, Relaxed);
        self.total.descriptors.fetch_add(1, Relaxed);
    }
}

impl Drop for FileWeight {
    fn drop(&mut self) {
        self.total.bytes.fetch_sub(self.bytes.load(Relaxed), Relaxed);
        self.total.descriptors.fetch_sub(self.descriptors.load(Relaxed), Relaxed);
    }
}

#[derive(Clone)]
struct EncodedContents {
    level: u8,
    bytes: Bytes,
}

impl FileIdentity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified_s: metadata.mtime(),
            modified_ns: metadata.mtime_nsec(),
            changed_s: metadata.ctime(),
            changed_ns: metadata.ctime_nsec(),
            mode: metadata.mode(),
        }
    }
}

impl PathEntry {
    /// Creates an entry from `metadata`, the result of a `stat` at `now` (milliseconds since the Unix epoch).
    pub(crate) fn of(metadata: io::Result<Metadata>, now: u64, held: &Arc<CachedFileTotals>) -> Self {
        let (checked_ms, used_ms) = (AtomicU64::new(now), AtomicU64::new(now));
        match metadata {
            Err(error) => Self {
                kind: PathKind::Missing(SystemError::of(&error)),
                executable: false,
                checked_ms,
                used_ms,
                identity: FileIdentity::default(),
            },
            Ok(metadata) => Self {
                kind: if metadata.is_file() {
                    PathKind::File(Box::new(FileEntry::new(&metadata, held)))
                } else if metadata.is_dir() {
                    PathKind::Directory
                } else {
                    PathKind::Other
                },
                executable: metadata.mode() & 0o111 != 0,
                checked_ms,
                used_ms,
                identity: FileIdentity::of(&metadata),
            },
        }
    }

    /// Returns true if `metadata`, the result of a new `stat`, shows an unchanged path, so that the entry with its
    /// contents and encodings remains valid. Errors are unchanged if they are equal.
    pub(crate) fn is_unchanged(&self, metadata: &io::Result<Metadata>) -> bool {
        match metadata {
            Ok(metadata) => self.identity == FileIdentity::of(metadata),
            Err(error) => matches!(self.kind, PathKind::Missing(known) if known == SystemError::of(error)),
        }
    }

    /// Returns the result of nginx's tests `-f`, `-d`, `-e` and `-x`.
    pub fn passes(&self, test: FileTest) -> bool {
        match test {
            FileTest::File => self.file().is_some(),
            FileTest::Directory => self.is_directory(),
            FileTest::Exists => self.exists(),
            FileTest::Executable => self.executable,
        }
    }

    /// Returns the file; `None` if the path is not a regular file.
    pub fn file(&self) -> Option<&FileEntry> {
        match &self.kind {
            PathKind::File(file) => Some(file),
            _ => None,
        }
    }

    /// Returns true if the path is a directory.
    pub fn is_directory(&self) -> bool {
        matches!(self.kind, PathKind::Directory)
    }

    /// Returns true if the path exists and can be accessed.
    pub fn exists(&self) -> bool {
        !matches!(self.kind, PathKind::Missing(_))
    }

    /// Returns the time of the last check in milliseconds since the Unix epoch.
    pub fn checked_ms(&self) -> u64 {
        self.checked_ms.load(Relaxed)
    }

    /// Records a use, at most once a second: the workers share the entry, and each write would invalidate its cache
    /// line on other CPU cores.
    pub(crate) fn mark_used(&self, now: u64) {
        if now >= self.used_ms().saturating_add(1000) {
            self.used_ms.store(now, Relaxed);
        }
    }

    /// Returns the time of the last change of the file or its inode in milliseconds since the Unix epoch, rounded down
    /// to a second.
    pub(crate) fn changed_ms(&self) -> u64 {
        u64::try_from(self.identity.modified_s.max(self.identity.changed_s)).unwrap_or(0).saturating_mul(1000)
    }

    /// Returns the time of the last use in milliseconds since the Unix epoch, with a precision of a second.
    pub(crate) fn used_ms(&self) -> u64 {
        self.used_ms.load(Relaxed)
    }
}

impl FileEntry {
    /// Returns the numbers by which two versions of a file are distinguished: device, inode, length, and the times of
    /// the last modification and change in seconds and nanoseconds.
    pub fn identity_parts(&self) -> [u64; 7] {
        self.identity.parts()
    }

    fn new(metadata: &Metadata, held: &Arc<CachedFileTotals>) -> Self {
        let modified_s = u64::try_from(metadata.mtime()).unwrap_or(0);
        let opaque = format!("{modified_s:x}-{:x}", metadata.len());
        let mut modified = Vec::new();
        write_http_date(modified_s, &mut modified);
        Self {
            length: metadata.len(),
            modified_s,
            modified: modified.into(),
            tag: EntityTag::Origin { opaque: opaque.into_bytes().into(), weak: false, undone: false },
            identity: FileIdentity::of(metadata),
            weight: FileWeight::of(held),
            contents: OnceLock::new(),
            descriptor: OnceLock::new(),
            encoded: Mutex::new([const { None }; 4]),
        }
    }

    /// Returns the contents of the file; `None` before [`FileEntry::load`], and for a file above 1 MB.
    pub fn contents(&self) -> Option<&Bytes> {
        self.contents.get()
    }

    /// Returns true if the file is small enough for its contents to be cached.
    pub fn is_small(&self) -> bool {
        self.length <= IN_MEMORY
    }

    /// Opens the file, and reads its contents if it is small. Blocks, so it must be called on the blocking thread pool.
    ///
    /// Fails with kind `Other` if the file has changed since the entry was created: a response must match the length
    /// and entity tag of the entry.
    pub fn load(&self, path: &Path) -> io::Result<()> {
        // `O_NONBLOCK`, because the file may have been replaced by a named pipe, whose opening would wait for a writer.
        let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
        let mut file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
        if FileIdentity::of(&file.metadata()?) != self.identity {
            return Err(io::Error::other("the file was replaced or changed"));
        }
        if !self.is_small() {
            if self.descriptor.set(Arc::new(OwnedFd::from(file))).is_ok() {
                self.weight.add_descriptor();
            }
            return Ok(());
        }
        let mut contents = Vec::with_capacity(self.length as usize);
        file.by_ref().take(IN_MEMORY + 1).read_to_end(&mut contents)?;
        if contents.len() as u64 != self.length {
            return Err(io::Error::other("the file changed while it was read"));
        }
        let length = contents.len();
        if self.contents.set(Bytes::from(contents)).is_ok() {
            self.weight.add_bytes(length);
        }
        Ok(())
    }

    /// Returns the descriptor of a large file; `None` before [`FileEntry::load`].
    pub fn descriptor(&self) -> Option<&Arc<OwnedFd>> {
        self.descriptor.get()
    }

    /// Returns true if the file can be sent without reading or opening it.
    pub fn is_loaded(&self) -> bool {
        self.contents.get().is_some() || self.descriptor.get().is_some()
    }

    /// Returns the contents encoded in `coding`, with their compression level; `None` if there are none.
    pub fn encoded(&self, coding: Coding) -> Option<(u8, Bytes)> {
        let encoded = self.encoded.lock();
        encoded[coding as usize].as_ref().map(|encoded| (encoded.level, encoded.bytes.clone()))
    }

    /// Stores contents encoded in `coding` with the compression level `level`, unless contents in this coding with the
    /// same or a higher level are stored.
    pub fn attach(&self, coding: Coding, level: u8, bytes: Bytes) {
        let mut encoded = self.encoded.lock();
        let slot = &mut encoded[coding as usize];
        if slot.as_ref().is_none_or(|known| known.level < level) {
            self.weight.add_bytes(bytes.len());
            if let Some(weaker) = slot.replace(EncodedContents { level, bytes }) {
                self.weight.remove_bytes(weaker.bytes.len());
            }
        }
    }

    /// Returns the number of bytes of contents and encodings in memory.
    pub(crate) fn weight(&self) -> usize {
        self.weight.bytes.load(Relaxed)
    }

    /// Returns the number of descriptors that this entry has open: 0 or 1.
    pub(crate) fn open_files(&self) -> usize {
        self.weight.descriptors.load(Relaxed)
    }
}

#[cfg(test)]
mod tests;
