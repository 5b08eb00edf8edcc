//! What may not wait in memory: temporary files without a name, written and read on the pool of blocking work.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use myriad_http::body::{Body, BodyError};
use rustix::fs::{Mode, OFlags};
use tokio::task::{JoinHandle, spawn_blocking};

/// Most bytes read at a time.
const PIECE: u64 = 64 << 10;

/// A file that goes with its last user.
#[derive(Clone)]
pub(crate) struct TempFile(Arc<File>);

impl TempFile {
    /// Makes a file.
    pub(crate) async fn create() -> io::Result<Self> {
        let file = spawn_blocking(|| folders().iter().find_map(|folder| open(folder).ok())).await;
        match file {
            Ok(Some(file)) => Ok(Self(Arc::new(file))),
            _ => Err(io::Error::other("no folder takes a temporary file")),
        }
    }

    /// Writes pieces after each other from `offset` on.
    pub(crate) async fn write(&self, pieces: Vec<Bytes>, offset: u64) -> io::Result<()> {
        let file = Arc::clone(&self.0);
        let written = spawn_blocking(move || {
            let mut at = offset;
            for piece in pieces {
                file.write_all_at(&piece, at)?;
                at += piece.len() as u64;
            }
            Ok(())
        });
        written.await.unwrap_or_else(|_| Err(io::Error::other("writing was abandoned")))
    }

    /// Begins to read from `offset`, up to `end`.
    pub(crate) fn read(&self, offset: u64, end: u64) -> Reading {
        let file = Arc::clone(&self.0);
        let length = (end - offset).min(PIECE) as usize;
        Reading(spawn_blocking(move || {
            let mut bytes = vec![0; length];
            file.read_exact_at(&mut bytes, offset)?;
            Ok(Bytes::from(bytes))
        }))
    }
}

/// A read under way.
pub(crate) struct Reading(JoinHandle<io::Result<Bytes>>);

impl Reading {
    /// The bytes, once they are there.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Bytes, BodyError>> {
        let read = ready!(Pin::new(&mut self.0).poll(cx));
        let read = read.unwrap_or_else(|_| Err(io::Error::other("reading was abandoned")));
        Poll::Ready(read.map_err(|error| BodyError::Io(format!("temporary file: {error}"))))
    }
}

/// The first bytes of a file as a body.
pub(crate) struct FileBody {
    file: TempFile,
    at: u64,
    end: u64,
    reading: Option<Reading>,
}

impl FileBody {
    /// A body of the first `length` bytes.
    pub(crate) fn new(file: TempFile, length: u64) -> Self {
        Self { file, at: 0, end: length, reading: None }
    }
}

impl Body for FileBody {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let this = &mut *self;
        if this.at == this.end {
            return Poll::Ready(None);
        }
        let reading = this.reading.get_or_insert_with(|| this.file.read(this.at, this.end));
        let read = ready!(reading.poll(cx));
        this.reading = None;
        if let Ok(bytes) = &read {
            this.at += bytes.len() as u64;
        }
        Poll::Ready(Some(read))
    }

    fn size_hint(&self) -> Option<u64> {
        Some(self.end - self.at)
    }
}

/// `/tmp` is often memory, which is what these files are to spare.
fn folders() -> Vec<PathBuf> {
    let own = std::env::var_os("TMPDIR").map(PathBuf::from);
    own.into_iter().chain(["/var/tmp".into(), "/tmp".into()]).collect()
}

fn open(folder: &Path) -> io::Result<File> {
    let unnamed = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(folder, unnamed, Mode::RUSR | Mode::WUSR) {
        Ok(file) => Ok(File::from(file)),
        Err(_) => open_and_unlink(folder),
    }
}

/// For file systems that know no unnamed files.
fn open_and_unlink(folder: &Path) -> io::Result<File> {
    use std::hash::{BuildHasher, RandomState};
    let number = RandomState::new().hash_one(std::process::id());
    let path = folder.join(format!(".myriad-{number:016x}"));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}
