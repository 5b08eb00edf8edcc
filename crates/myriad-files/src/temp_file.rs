//! Temporary files for large bodies. They are written and read on the blocking thread pool.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use myriad_http::body::{Body, BodyError};
use rustix::fs::{Mode, OFlags};
use tokio::task::{JoinHandle, spawn_blocking};

/// Maximum number of bytes of one read from a temporary file.
const PIECE: u64 = 64 << 10;

/// Handle of a temporary file. Dropping the last handle removes the file, unless its [`Naming`] is `Stays`.
#[derive(Clone)]
pub struct TempFile(Arc<Inner>);

struct Inner {
    file: File,
    name: Option<(PathBuf, Naming)>,
    /// Number of bytes charged for this file, which [`CHARGED`] includes.
    charged: AtomicU64,
}

/// Total number of bytes charged for temporary files of the process, independent of configurations, because files can
/// outlive the configuration that created them.
static CHARGED: AtomicU64 = AtomicU64::new(0);

impl Drop for Inner {
    fn drop(&mut self) {
        CHARGED.fetch_sub(self.charged.load(Relaxed), Relaxed);
        if let Some((path, Naming::WhileUsed)) = &self.name {
            // Blocks for one system call. An upstream that opens the file by name must expect that it is removed.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Presence and lifetime of the name of a temporary file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Naming {
    /// No name. The kernel removes the file even if the process is killed.
    Nameless,
    /// The name exists until the last handle is dropped.
    WhileUsed,
    /// The name stays. The application that receives the path must remove the file.
    Stays,
}

impl TempFile {
    /// Creates a file without a name in the first of `$TMPDIR`, `/var/tmp` and `/tmp` in which this is possible; fails
    /// if it is possible in none.
    pub async fn create() -> io::Result<Self> {
        Self::create_in(None, Naming::Nameless).await
    }

    /// Creates a file in `folder`, with a name as `naming` specifies. If `folder` is `None`, same as [`Self::create`]:
    /// the file has no name, whatever `naming` is. Fails if the file cannot be created.
    pub async fn create_in(folder: Option<&TempFolder>, naming: Naming) -> io::Result<Self> {
        let folder = folder.cloned();
        let made = spawn_blocking(move || match (folder, naming) {
            (Some(folder), Naming::Nameless) => Ok((open(&folder.path)?, None)),
            (Some(folder), naming) => folder.create().map(|(file, path)| (file, Some((path, naming)))),
            (None, _) => open_in_first(&folders()).map(|file| (file, None)),
        });
        let (file, name) =
            made.await.map_err(|_| io::Error::other("creating the temporary file was cancelled"))??;
        Ok(Self(Arc::new(Inner { file, name, charged: AtomicU64::new(0) })))
    }

    /// Returns the path of the file; `None` if it has no name.
    pub fn name(&self) -> Option<&Path> {
        self.0.name.as_ref().map(|(path, _)| path.as_path())
    }

    /// Charges the file for bytes that are about to be written. Returns false, without a charge, if the total of all
    /// files would exceed `most` bytes (0 for no limit). The charge is released when the file is dropped.
    pub fn charge(&self, bytes: u64, most: u64) -> bool {
        let fits = |all: u64| all.checked_add(bytes).filter(|sum| most == 0 || *sum <= most);
        let charged = CHARGED.fetch_update(Relaxed, Relaxed, fits).is_ok();
        if charged {
            self.0.charged.fetch_add(bytes, Relaxed);
        }
        charged
    }

    /// Writes the pieces one after another, starting at `offset`. After an error a part of them may have been written.
    pub async fn write(&self, pieces: Vec<Bytes>, offset: u64) -> io::Result<()> {
        let file = Arc::clone(&self.0);
        let written = spawn_blocking(move || {
            let mut at = offset;
            for piece in pieces {
                file.file.write_all_at(&piece, at)?;
                at += piece.len() as u64;
            }
            Ok(())
        });
        written.await.unwrap_or_else(|_| Err(io::Error::other("writing was cancelled")))
    }

    /// Starts to read the bytes `offset..end`, at most 64 KB of them. The file must contain these bytes; otherwise the
    /// read fails. `end` must not be less than `offset`. Must be called on a Tokio runtime.
    pub fn read(&self, offset: u64, end: u64) -> PendingRead {
        let file = Arc::clone(&self.0);
        let length = (end - offset).min(PIECE) as usize;
        PendingRead(spawn_blocking(move || {
            let mut bytes = vec![0; length];
            file.file.read_exact_at(&mut bytes, offset)?;
            Ok(Bytes::from(bytes))
        }))
    }
}

/// Folder for temporary files (`client_body_temp_path`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TempFolder {
    /// Path of the folder in which the files are created.
    pub path: PathBuf,
    /// Lengths of the subfolder names at each level, for files with names; the subfolder names are the last digits of
    /// the file number.
    pub levels: Vec<u8>,
}

impl TempFolder {
    /// Creates a file with the next unused number, and its missing folders. Returns the file and its path, or the error
    /// of the system.
    fn create(&self) -> io::Result<(File, PathBuf)> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        loop {
            let path = self.path_of(NUMBER.fetch_add(1, Relaxed) + 1);
            let create =
                || OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path);
            match create() {
                Ok(file) => return Ok((file, path)),
                // There is a file of an earlier process with this number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    NUMBER.fetch_add(u64::from(std::process::id()), Relaxed);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let folder = path.parent().unwrap_or(&self.path);
                    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
                    return create().map(|file| (file, path));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the path of a file number as in nginx: ten digits, in subfolders named by its last digits.
    fn path_of(&self, number: u64) -> PathBuf {
        let name = format!("{:010}", number % 10_000_000_000);
        let mut path = self.path.clone();
        let mut end = name.len();
        for level in &self.levels {
            let start = end.saturating_sub(usize::from(*level));
            path.push(&name[start..end]);
            end = start;
        }
        path.push(name);
        path
    }
}

/// Read in progress on the blocking thread pool.
pub struct PendingRead(JoinHandle<io::Result<Bytes>>);

impl PendingRead {
    /// Returns the bytes once the read has finished, or its error; pending until then.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Bytes, BodyError>> {
        let read = ready!(Pin::new(&mut self.0).poll(cx));
        let read = read.unwrap_or_else(|_| Err(io::Error::other("the read was cancelled")));
        Poll::Ready(read.map_err(|error| BodyError::Io(format!("temporary file: {error}"))))
    }
}

/// Body that consists of the first bytes of a temporary file.
pub struct FileBody {
    file: TempFile,
    at: u64,
    end: u64,
    reading: Option<PendingRead>,
}

impl FileBody {
    /// Creates a body of the first `length` bytes.
    pub fn new(file: TempFile, length: u64) -> Self {
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

/// Returns the system's folders for temporary files, in order. `/var/tmp` comes before `/tmp`, which is often in
/// memory.
fn folders() -> Vec<PathBuf> {
    let own = std::env::var_os("TMPDIR").map(PathBuf::from);
    own.into_iter().chain(["/var/tmp".into(), "/tmp".into()]).collect()
}

/// Creates a file without a name in the first folder in which this is possible. The error is that of the last folder.
fn open_in_first(folders: &[PathBuf]) -> io::Result<File> {
    let mut outcome = Err(io::Error::other("no folder is known"));
    for folder in folders {
        outcome = open(folder).map_err(|error| {
            io::Error::new(error.kind(), format!("no file can be created in {}: {error}", folder.display()))
        });
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

fn open(folder: &Path) -> io::Result<File> {
    let unnamed = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(folder, unnamed, Mode::RUSR | Mode::WUSR) {
        Ok(file) => Ok(File::from(file)),
        Err(_) => open_and_unlink(folder),
    }
}

/// Creates a named file and removes its name immediately, for file systems without `O_TMPFILE`. Fails if either is not
/// possible.
fn open_and_unlink(folder: &Path) -> io::Result<File> {
    use std::hash::{BuildHasher, RandomState};
    let number = RandomState::new().hash_one(std::process::id());
    let path = folder.join(format!(".myriad-{number:016x}"));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::future::{Future, poll_fn};

    use super::*;

    #[test]
    fn files_are_numbered_below_folders_of_their_last_digits() {
        let folder = |levels: &[u8]| TempFolder { path: "/t".into(), levels: levels.to_vec() };
        assert_eq!(folder(&[]).path_of(7), Path::new("/t/0000000007"));
        assert_eq!(folder(&[1, 2]).path_of(12_345), Path::new("/t/5/34/0000012345"));
        assert_eq!(folder(&[3, 3, 3]).path_of(1_234_567_890), Path::new("/t/890/567/234/1234567890"));
    }

    #[test]
    fn a_named_file_goes_with_its_last_user_unless_it_stays() {
        let path = std::env::temp_dir().join(format!("myriad-named-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let folder = TempFolder { path: path.clone(), levels: vec![1] };
        let made = |naming| {
            let (file, name) = folder.create().unwrap();
            TempFile(Arc::new(Inner { file, name: Some((name, naming)), charged: AtomicU64::new(0) }))
        };
        let (used, stays) = (made(Naming::WhileUsed), made(Naming::Stays));
        let names = [&used, &stays].map(|file| file.name().unwrap().to_owned());
        let other_user = used.clone();
        drop(used);
        assert!(names[0].exists());
        drop((other_user, stays));
        assert_eq!(names.map(|name| name.exists()), [false, true]);
        std::fs::remove_dir_all(path).unwrap();
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(work)
    }

    async fn whole(mut body: FileBody) -> Result<Vec<u8>, BodyError> {
        let mut bytes = Vec::new();
        while let Some(piece) = poll_fn(|cx| Pin::new(&mut body).poll_data(cx)).await {
            let piece = piece?;
            assert!(!piece.is_empty() && piece.len() as u64 <= PIECE);
            assert_eq!(body.size_hint(), Some(body.end - body.at));
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }

    #[test]
    fn what_was_written_is_read_in_pieces() {
        let written: Vec<u8> = (0..PIECE * 2 + 5).map(|at| at as u8).collect();
        let read = run(async {
            let file = TempFile::create().await.unwrap();
            let (one, other) = written.split_at(70_000);
            file.write(vec![Bytes::copy_from_slice(&one[..3]), Bytes::copy_from_slice(&one[3..])], 0)
                .await
                .unwrap();
            file.write(vec![Bytes::copy_from_slice(other)], 70_000).await.unwrap();
            let body = FileBody::new(file, written.len() as u64);
            assert_eq!(body.size_hint(), Some(written.len() as u64));
            whole(body).await.unwrap()
        });
        assert!(read == written);
    }

    #[test]
    fn file_body_stops_at_given_length() {
        run(async {
            let file = TempFile::create().await.unwrap();
            file.write(vec![Bytes::from_static(b"abcdef")], 0).await.unwrap();
            assert_eq!(whole(FileBody::new(file.clone(), 4)).await.unwrap(), b"abcd");
            assert_eq!(whole(FileBody::new(file, 0)).await.unwrap(), b"");
        });
    }

    #[test]
    fn a_file_that_is_too_short_is_an_error_and_no_end() {
        run(async {
            let file = TempFile::create().await.unwrap();
            file.write(vec![Bytes::from_static(b"abc")], 0).await.unwrap();
            assert!(matches!(whole(FileBody::new(file, 4)).await, Err(BodyError::Io(_))));
        });
    }

    #[test]
    fn a_file_in_a_folder_is_nameless_unless_asked() {
        let path = std::env::temp_dir().join(format!("myriad-nameless-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let folder = TempFolder { path: path.clone(), levels: vec![2] };
        run(async {
            let nameless = TempFile::create_in(Some(&folder), Naming::Nameless).await.unwrap();
            assert!(nameless.name().is_none());
            assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0);
            let named = TempFile::create_in(Some(&folder), Naming::WhileUsed).await.unwrap();
            let name = named.name().unwrap().to_owned();
            assert!(name.starts_with(&path) && name.exists());
            let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&name).unwrap());
            assert_eq!(mode & 0o077, 0, "others may not read what visitors send: {mode:o}");
        });
        std::fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn first_usable_folder_is_used_and_the_error_names_its_cause() {
        let absent = || PathBuf::from("/dev/null/folder");
        assert!(open_in_first(&[absent(), "/tmp".into()]).is_ok());
        let error = open_in_first(&[absent()]).expect_err("no folder").to_string();
        assert!(error.contains("/dev/null/folder: Not a directory"), "{error}");
    }

    #[test]
    fn a_folder_that_cannot_be_is_an_error() {
        let folder = TempFolder { path: "/dev/null/folder".into(), levels: Vec::new() };
        for naming in [Naming::Nameless, Naming::WhileUsed, Naming::Stays] {
            assert!(run(TempFile::create_in(Some(&folder), naming)).is_err(), "{naming:?}");
        }
    }

    #[test]
    fn a_number_that_is_taken_is_passed_over() {
        let path = std::env::temp_dir().join(format!("myriad-taken-{}", std::process::id()));
        let folder = TempFolder { path: path.clone(), levels: Vec::new() };
        let (_, first) = folder.create().unwrap();
        let first: u64 = first.file_name().unwrap().to_str().unwrap().parse().unwrap();
        // Files of an earlier process. Other tests may use up numbers meanwhile.
        let left: Vec<_> = (first + 1..first + 50).map(|number| folder.path_of(number)).collect();
        for path in &left {
            std::fs::write(path, "left").unwrap();
        }
        let (_, second) = folder.create().unwrap();
        assert!(!left.contains(&second) && second.exists(), "{}", second.display());
        assert!(left.iter().all(|path| std::fs::read(path).unwrap() == b"left"));
        std::fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn files_are_charged_together_and_discharged_when_they_go() {
        // Larger than the charges of other tests in this process, which charge nothing.
        let most = 1000;
        let [one, other] =
            run(async { [TempFile::create().await.unwrap(), TempFile::create().await.unwrap()] });
        assert!(one.charge(600, most));
        assert!(!other.charge(401, most));
        assert!(other.charge(400, most));
        assert!(!one.charge(1, most));
        let user = one.clone();
        drop(one);
        assert!(!other.charge(1, most), "it is still in use");
        drop(user);
        assert!(other.charge(600, most));
        assert!(other.charge(1 << 40, 0), "no bound");
        assert!(!other.charge(u64::MAX, 0), "more than can be counted");
        drop(other);
        assert_eq!(CHARGED.load(Relaxed), 0);
    }
}
