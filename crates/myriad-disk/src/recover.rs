//! Recovery after a start: search for the files of former processes, while pages are already served.

use std::collections::VecDeque;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use std::{fs, io};

use crate::index::FileName;
use myriad_base::digits::hexadecimal;
use parking_lot::Mutex;

use crate::file_index::{FileRole, IndexedFile, blocks_of, split_hash};
use crate::file_store::FileStore;
use crate::folder::FolderHandle;
use crate::format::ContentKind;
use crate::options::{DiskEvent, WorkPace};
use crate::purges::Purges;
use crate::read::{self, ReadFailure};
use crate::sequence::EPOCH;
use crate::snapshot;

/// Maximum number of pages that are loaded into memory after a restart, without a request for them.
const MAX_WARMED: usize = 4096;

/// Sequence numbers of a start of a process on a folder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StartNumbers {
    /// First sequence number of this start.
    pub(crate) epoch: u64,
    /// First sequence number of the former start on this folder; `None` if there was none.
    pub(crate) former: Option<u64>,
}

/// Progress of the search for files at startup.
#[derive(Debug, Default)]
struct RecoveryProgress {
    stage: RecoveryStage,
    /// Folders still to be read, with the depth of each below the zone's folder.
    folders: Vec<(PathBuf, usize)>,
    /// Files of the current folder, still to be examined.
    files: VecDeque<PathBuf>,
    /// Set if a snapshot provided the eviction order of the files.
    ordered: bool,
    /// Frequently used pages to load into memory, in order: file name and key hash.
    warm: VecDeque<(FileName, u128)>,
    began: Option<Instant>,
    /// Lowest sequence number of the fetches whose files are deleted, because a process that is gone wrote them; `None`
    /// if none are deleted.
    void: Option<u64>,
}

impl RecoveryProgress {
    /// Starts to scan the folder (again), and to delete the files whose fetch has number `from` or a higher one: those
    /// of newer processes that are gone.
    fn begin_voiding(&mut self, root: &Path, from: u64) {
        self.void = Some(from);
        self.files.clear();
        self.folders = vec![(root.to_owned(), 0)];
        if self.stage == RecoveryStage::Done {
            self.stage = RecoveryStage::Walk;
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RecoveryStage {
    #[default]
    Snapshot,
    Walk,
    Done,
}

/// Recovery of the file index from the snapshot and the files of a folder.
pub(crate) struct Recovery {
    file_store: Arc<FileStore>,
    folder: Arc<FolderHandle>,
    purges: Arc<Purges>,
    progress: Mutex<RecoveryProgress>,
}

impl Recovery {
    pub(crate) fn new(file_store: &Arc<FileStore>, folder: &Arc<FolderHandle>, purges: &Arc<Purges>) -> Self {
        let (shelf, folder, purges) = (Arc::clone(file_store), Arc::clone(folder), Arc::clone(purges));
        Self { file_store: shelf, folder, purges, progress: Mutex::default() }
    }

    /// Does a bounded part of the search for files. Returns the pause before the next part, or `None` if the search was
    /// already complete. Writes new numbers to `start` after the files of a process that is gone have been deleted.
    pub(crate) fn step(&self, start: &Mutex<Option<StartNumbers>>) -> Option<Duration> {
        let mut progress = self.progress.lock();
        if let Some(from) = self.file_store.lease.take_void_from() {
            progress.begin_voiding(&self.file_store.files.root, from);
        }
        let pace = self.file_store.limits.read().loader;
        match progress.stage {
            RecoveryStage::Done => return None,
            RecoveryStage::Snapshot => {
                progress.began = Some(Instant::now());
                self.clean_temporary(*start.lock());
                self.recall(&mut progress, *start.lock());
                progress.folders.push((self.file_store.files.root.clone(), 0));
                progress.stage = RecoveryStage::Walk;
                // All files of a small folder are found in the first step.
                self.walk(&mut progress, pace, start);
            }
            RecoveryStage::Walk => self.walk(&mut progress, pace, start),
        }
        Some(Duration::from_millis(if progress.stage == RecoveryStage::Done { 0 } else { pace.sleep_ms }))
    }

    /// Runs `job` while the search for files is locked, as if a step were in progress.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn during(&self, job: impl FnOnce()) {
        let _progress = self.progress.lock();
        job();
    }

    /// Deletes temporary files left by other process starts. Their processes have exited or released the writer lease.
    fn clean_temporary(&self, start: Option<StartNumbers>) {
        let own = start.map(|start| start.epoch / EPOCH);
        for entry in fs::read_dir(self.file_store.files.temporary()).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let number = hexadecimal::<u64>(name.as_encoded_bytes());
            if number.map(|number| number / EPOCH) != own {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn recall(&self, progress: &mut RecoveryProgress, start: Option<StartNumbers>) {
        let most = self.file_store.limits.read().max_files.min(1 << 27);
        let Some(snapshot) = snapshot::read(
            &self.file_store.files.root,
            self.file_store.files.version,
            &self.file_store.files.levels,
            most,
        ) else {
            return;
        };
        let files = snapshot.files;
        let is_sure = start.and_then(|start| start.former) == Some(snapshot.last_of);
        progress.ordered = true;
        let hot =
            files.iter().rev().filter(|(filed, standing)| standing.uses > 0 && filed.role == FileRole::Plain);
        progress.warm = hot.take(MAX_WARMED).map(|(filed, _)| (filed.name, filed.key_hash())).collect();
        let markers = files.iter().filter(|(filed, _)| filed.role == FileRole::Marker);
        let varying: Vec<u128> = markers.map(|(filed, _)| filed.key_hash()).collect();
        {
            let mut file_index = self.file_store.file_index.lock();
            for (filed, standing) in files {
                file_index.restore(IndexedFile { is_trusted: is_sure, ..filed }, standing);
            }
            for (label, name) in snapshot.labels {
                file_index.restore_label(label, name);
            }
        }
        for hash in varying {
            self.file_store.enforce_variant_limit(hash, None);
        }
        if is_sure {
            self.purges.recall();
        }
    }

    fn walk(&self, progress: &mut RecoveryProgress, pace: WorkPace, start: &Mutex<Option<StartNumbers>>) {
        let longest = Duration::from_millis(pace.threshold_ms);
        let began = Instant::now();
        let mut looked_at = 0;
        while looked_at < pace.files.max(1)
            && began.elapsed() < longest
            && !self.file_store.health.is_closed()
        {
            if let Some(path) = progress.files.pop_front() {
                self.examine_file(&path, progress.void);
                looked_at += 1;
            } else if let Some((folder, depth)) = progress.folders.pop() {
                self.read_folder(progress, &folder, depth);
                looked_at += 1;
            } else {
                return self.end(progress, start);
            }
        }
        // Frequently used pages are loaded between two steps.
        self.warm_up(progress);
    }

    fn warm_up(&self, progress: &mut RecoveryProgress) {
        let Some(memory) = self.file_store.memory.upgrade() else { return };
        for _ in 0..256 {
            let Some((name, hash)) = progress.warm.pop_front() else { return };
            if !Arc::clone(&memory).warm(name, hash, self.file_store.health.now()) {
                return progress.warm.clear();
            }
        }
    }

    fn read_folder(&self, progress: &mut RecoveryProgress, folder: &Path, depth: usize) {
        self.file_store.files.watch.folder(folder);
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.file_store.health.record_failure("opendir()", folder, error),
        };
        let mut files = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            if depth < self.file_store.files.levels.len() {
                let is_level = name.len() == usize::from(self.file_store.files.levels[depth])
                    && name
                        .as_bytes()
                        .iter()
                        .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte));
                if is_level && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    progress.folders.push((entry.path(), depth + 1));
                }
            } else if FileName::parse(name.as_bytes()).is_some() {
                files.push((entry.ino(), entry.path()));
            }
        }
        // Sorted by inode, which is roughly the order on the disk.
        files.sort_unstable();
        progress.files.extend(files.into_iter().map(|(_, path)| path));
    }

    /// Adds a page or marker file to the file index and applies the active purges of keys and labels to it, or
    /// quarantines it if it is invalid. Ignores a file in a folder that does not match its name. Removes a file whose
    /// fetch has the number `void` or a higher one, or began before the zone was cleared.
    fn examine_file(&self, path: &Path, void: Option<u64>) {
        let name = path.file_name().and_then(|name| FileName::parse(name.as_bytes()));
        // A file in the wrong folder cannot be found by its key, and is ignored.
        let Some(name) = name.filter(|name| self.file_store.files.path(*name) == path) else { return };
        if void.is_some_and(|from| self.remove_if_newer(name, from)) {
            return;
        }
        {
            let mut file_index = self.file_store.file_index.lock();
            if file_index.mark_seen(name) || file_index.is_doomed(name) {
                return;
            }
        }
        let looked = read::open(&self.file_store.files, name).map_err(ReadFailure::from).and_then(|file| {
            let used_s = file.metadata()?.mtime().clamp(0, i64::from(u32::MAX)) as u32;
            let (header, len) = read::header(&self.file_store.files, &file)?;
            let (variant, labels) = read::labels(&file, &header)?;
            Ok((header, variant as u32, labels, len, used_s))
        });
        match looked {
            Ok((header, variant, labels, len, used_s)) => {
                let stripe = self.file_store.stripe(header.key_hash);
                // The file may have been removed, or added to the file index, since it was opened.
                let still_there = fs::symlink_metadata(path).is_ok();
                let mut file_index = self.file_store.file_index.lock();
                if !still_there || file_index.mark_seen(name) || file_index.is_doomed(name) {
                    return;
                }
                if header.generation < self.file_store.files.barrier.load(Relaxed) {
                    file_index.doom_unknown(name, header.key_hash);
                    return;
                }
                let role = match header.kind {
                    ContentKind::Marker => FileRole::Marker,
                    ContentKind::Object if header.selector_len > 0 || header.family != 0 => FileRole::Variant,
                    ContentKind::Object => FileRole::Plain,
                };
                let hash = split_hash(header.key_hash);
                let blocks = blocks_of(len);
                file_index.take_blocks(blocks);
                let generation = header.generation;
                let filed = IndexedFile {
                    name,
                    hash,
                    generation,
                    variant,
                    blocks,
                    used_s,
                    role,
                    was_seen: true,
                    is_trusted: true,
                    share: 0,
                };
                file_index.insert(filed, &labels);
                drop(file_index);
                self.judge_found(&filed, &labels);
                drop(stripe);
                if role == FileRole::Variant {
                    self.file_store.enforce_variant_limit(filed.key_hash(), None);
                }
            }
            Err(ReadFailure::Invalid(why)) => {
                // The key, and thus the stripe, is unknown: the file is quarantined under all stripes.
                let _stripes = self.file_store.all_stripes();
                if self.file_store.file_index.lock().find(name).is_none() {
                    self.file_store.quarantine(name, why);
                }
            }
            Err(ReadFailure::Missing) => {}
            Err(ReadFailure::Failed(error)) => self.file_store.health.record_failure("open()", path, error),
        }
    }

    /// Deletes a file whose fetch has number `from` or a higher one. Returns true if the file has such a number; it
    /// remains marked as removed if it cannot be deleted.
    fn remove_if_newer(&self, name: FileName, from: u64) -> bool {
        let header = read::open(&self.file_store.files, name)
            .map_err(ReadFailure::from)
            .and_then(|file| read::header(&self.file_store.files, &file));
        let Ok((header, _)) = header else { return false };
        if header.generation < from {
            return false;
        }
        self.file_store.file_index.lock().doom_unknown(name, header.key_hash);
        self.file_store.remove_doomed(name, header.key_hash);
        true
    }

    /// Applies the active purges of keys and labels to a file that was just found. Rules are checked later.
    fn judge_found(&self, filed: &IndexedFile, labels: &[u64]) {
        if let Some(memory) = self.file_store.memory.upgrade()
            && filed.role != FileRole::Marker
        {
            let verdict = memory.judge_exact(filed.generation, filed.key_hash(), labels);
            self.file_store.apply_verdict(filed, verdict, memory.sequence().saturating_sub(1));
        }
    }

    /// Takes the sequence numbers of a new start and writes them to `start`, after the files of a newer process that is
    /// gone were deleted. Fails if the folder cannot be used.
    fn end_voiding(&self, start: &Mutex<Option<StartNumbers>>) -> io::Result<()> {
        let (epoch, former) = self.purges.renumber()?;
        *start.lock() = Some(StartNumbers { epoch, former });
        self.folder.take(epoch)
    }

    fn end(&self, progress: &mut RecoveryProgress, start: &Mutex<Option<StartNumbers>>) {
        progress.stage = RecoveryStage::Done;
        if let Some(from) = progress.void.take() {
            if let Err(error) = self.end_voiding(start) {
                progress.begin_voiding(&self.file_store.files.root, from);
                return self.file_store.health.record_write_failure(
                    "write()",
                    &self.file_store.files.root,
                    error,
                );
            }
            if self.file_store.file_index.lock().complete {
                return;
            }
        }
        let now_s = (self.file_store.health.now() / 1000) as u32;
        {
            let mut file_index = self.file_store.file_index.lock();
            if !progress.ordered {
                file_index.sort_by_use();
            }
            // No page could be requested while the process was stopped, so the time `inactive` counts from now.
            file_index.set_all_used(now_s);
            file_index.complete();
        }
        self.warm_up(progress);
        let stats = self.file_store.stats();
        let took_ms = progress.began.map_or(0, |began| began.elapsed().as_millis() as u64);
        self.file_store.health.report_event(&DiskEvent::Recovered {
            files: stats.files,
            bytes: stats.bytes,
            took_ms,
        });
    }
}
