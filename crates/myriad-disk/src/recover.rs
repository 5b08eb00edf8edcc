//! Search for the files of former processes, while pages are already served.

use std::collections::VecDeque;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use std::{fs, io};

use crate::index::Name;
use parking_lot::Mutex;

use crate::catalogue::{Filed, Role, blocks_of, halves};
use crate::folder::Folder;
use crate::format::Kind;
use crate::options::{DiskEvent, Pace};
use crate::purges::Purges;
use crate::read::{self, Unread};
use crate::sequence::EPOCH;
use crate::shelf::Shelf;
use crate::snapshot;

/// Maximum number of pages loaded into memory without a request.
const WARM: usize = 4096;

/// Sequence numbers of a start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// First number of this start.
    pub(crate) epoch: u64,
    /// First number of the former start.
    pub(crate) former: Option<u64>,
}

/// Progress of the recovery.
#[derive(Debug, Default)]
struct Progress {
    stage: Stage,
    /// Folders to read, with the depth of each.
    folders: Vec<(PathBuf, usize)>,
    /// Files of the current folder.
    files: VecDeque<PathBuf>,
    /// Set if a snapshot provided the time of each file's last use.
    ordered: bool,
    /// Pages to load, hottest first.
    warm: VecDeque<(Name, u128)>,
    began: Option<Instant>,
    /// Number from which on files of fetches are removed, because another process that is gone wrote them.
    void: Option<u64>,
}

impl Progress {
    /// Starts to walk the folder (again), and removes the files of newer processes: those with numbers from `from` on.
    fn begin_voiding(&mut self, root: &Path, from: u64) {
        self.void = Some(from);
        self.files.clear();
        self.folders = vec![(root.to_owned(), 0)];
        if self.stage == Stage::Done {
            self.stage = Stage::Walk;
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Snapshot,
    Walk,
    Done,
}

/// Recovery of the files of a folder.
pub(crate) struct Recovery {
    shelf: Arc<Shelf>,
    folder: Arc<Folder>,
    purges: Arc<Purges>,
    progress: Mutex<Progress>,
}

impl Recovery {
    pub(crate) fn new(shelf: &Arc<Shelf>, folder: &Arc<Folder>, purges: &Arc<Purges>) -> Self {
        let (shelf, folder, purges) = (Arc::clone(shelf), Arc::clone(folder), Arc::clone(purges));
        Self { shelf, folder, purges, progress: Mutex::default() }
    }

    /// Does a bounded part of the recovery. Returns the pause before the next part, or `None` at the end. `start` is
    /// set to the numbers with which this process continues after it has removed the files of another process.
    pub(crate) fn go_on(&self, start: &Mutex<Option<Start>>) -> Option<Duration> {
        let mut progress = self.progress.lock();
        if let Some(from) = self.shelf.lease.take_void() {
            progress.begin_voiding(&self.shelf.files.root, from);
        }
        let pace = self.shelf.limits.read().loader;
        match progress.stage {
            Stage::Done => return None,
            Stage::Snapshot => {
                progress.began = Some(Instant::now());
                self.clean_temporary(*start.lock());
                self.recall(&mut progress, *start.lock());
                progress.folders.push((self.shelf.files.root.clone(), 0));
                progress.stage = Stage::Walk;
                // The files of a small folder are known at once.
                self.walk(&mut progress, pace, start);
            }
            Stage::Walk => self.walk(&mut progress, pace, start),
        }
        Some(Duration::from_millis(if progress.stage == Stage::Done { 0 } else { pace.sleep_ms }))
    }

    /// Runs a job as if a part of the recovery were in progress.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn during(&self, job: impl FnOnce()) {
        let _progress = self.progress.lock();
        job();
    }

    /// Removes temporary files of former starts, whose processes were killed or have released the lease.
    fn clean_temporary(&self, start: Option<Start>) {
        let own = start.map(|start| start.epoch / EPOCH);
        for entry in fs::read_dir(self.shelf.files.temporary()).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| u64::from_str_radix(name, 16).ok());
            if number.map(|number| number / EPOCH) != own {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn recall(&self, progress: &mut Progress, start: Option<Start>) {
        let most = self.shelf.limits.read().max_files.min(1 << 27);
        let Some(snapshot) =
            snapshot::read(&self.shelf.files.root, self.shelf.files.version, &self.shelf.files.levels, most)
        else {
            return;
        };
        let files = snapshot.files;
        let is_sure = start.and_then(|start| start.former) == Some(snapshot.last_of);
        progress.ordered = true;
        let hot =
            files.iter().rev().filter(|(filed, standing)| standing.uses > 0 && filed.role == Role::Plain);
        progress.warm = hot.take(WARM).map(|(filed, _)| (filed.name, filed.key_hash())).collect();
        let markers = files.iter().filter(|(filed, _)| filed.role == Role::Marker);
        let varying: Vec<u128> = markers.map(|(filed, _)| filed.key_hash()).collect();
        {
            let mut catalogue = self.shelf.catalogue.lock();
            for (filed, standing) in files {
                catalogue.recall(Filed { sure: is_sure, ..filed }, standing);
            }
            for (label, name) in snapshot.labels {
                catalogue.recall_label(label, name);
            }
        }
        for hash in varying {
            self.shelf.keep_variants(hash, None);
        }
        if is_sure {
            self.purges.recall();
        }
    }

    fn walk(&self, progress: &mut Progress, pace: Pace, start: &Mutex<Option<Start>>) {
        let longest = Duration::from_millis(pace.threshold_ms);
        let began = Instant::now();
        let mut looked_at = 0;
        while looked_at < pace.files.max(1) && began.elapsed() < longest && !self.shelf.health.is_closed() {
            if let Some(path) = progress.files.pop_front() {
                self.look_at_file(&path, progress.void);
                looked_at += 1;
            } else if let Some((folder, depth)) = progress.folders.pop() {
                self.read_folder(progress, &folder, depth);
                looked_at += 1;
            } else {
                return self.end(progress, start);
            }
        }
        // The hottest pages are loaded between two steps.
        self.warm_up(progress);
    }

    fn warm_up(&self, progress: &mut Progress) {
        let Some(memory) = self.shelf.memory.upgrade() else { return };
        for _ in 0..256 {
            let Some((name, hash)) = progress.warm.pop_front() else { return };
            if !Arc::clone(&memory).warm(name, hash, self.shelf.health.now()) {
                return progress.warm.clear();
            }
        }
    }

    fn read_folder(&self, progress: &mut Progress, folder: &Path, depth: usize) {
        self.shelf.files.watch.folder(folder);
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.shelf.health.troubled("opendir()", folder, error),
        };
        let mut files = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            if depth < self.shelf.files.levels.len() {
                let is_level = name.len() == usize::from(self.shelf.files.levels[depth])
                    && name
                        .as_bytes()
                        .iter()
                        .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte));
                if is_level && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    progress.folders.push((entry.path(), depth + 1));
                }
            } else if Name::parse(name.as_bytes()).is_some() {
                files.push((entry.ino(), entry.path()));
            }
        }
        // In the order of their inodes, which is roughly the order on the disk.
        files.sort_unstable();
        progress.files.extend(files.into_iter().map(|(_, path)| path));
    }

    /// Adds a file with a valid name to the catalogue, or quarantines it.
    fn look_at_file(&self, path: &Path, void: Option<u64>) {
        let name = path.file_name().and_then(|name| Name::parse(name.as_bytes()));
        // A file in the wrong folder cannot be found by its key.
        let Some(name) = name.filter(|name| self.shelf.files.path(*name) == path) else { return };
        if void.is_some_and(|from| self.void_newer(name, from)) {
            return;
        }
        {
            let mut catalogue = self.shelf.catalogue.lock();
            if catalogue.see(name) || catalogue.is_doomed(name) {
                return;
            }
        }
        let looked = read::open(&self.shelf.files, name).map_err(Unread::from).and_then(|file| {
            let used_s = file.metadata()?.mtime().clamp(0, i64::from(u32::MAX)) as u32;
            let (header, len) = read::header(&self.shelf.files, &file)?;
            let (variant, labels) = read::labels(&file, &header)?;
            Ok((header, variant as u32, labels, len, used_s))
        });
        match looked {
            Ok((header, variant, labels, len, used_s)) => {
                let stripe = self.shelf.stripe(header.key_hash);
                // The file may have been removed, or added to the catalogue, since it was opened.
                let still_there = fs::symlink_metadata(path).is_ok();
                let mut catalogue = self.shelf.catalogue.lock();
                if !still_there || catalogue.see(name) || catalogue.is_doomed(name) {
                    return;
                }
                if header.generation < self.shelf.files.barrier.load(Relaxed) {
                    catalogue.doom_unknown(name, header.key_hash);
                    return;
                }
                let role = match header.kind {
                    Kind::Marker => Role::Marker,
                    Kind::Object if header.selector_len > 0 || header.family != 0 => Role::Variant,
                    Kind::Object => Role::Plain,
                };
                let hash = halves(header.key_hash);
                let blocks = blocks_of(len);
                catalogue.take_blocks(blocks);
                let generation = header.generation;
                let filed = Filed {
                    name,
                    hash,
                    generation,
                    variant,
                    blocks,
                    used_s,
                    role,
                    seen: true,
                    sure: true,
                    share: 0,
                };
                catalogue.enter(filed, &labels);
                drop(catalogue);
                self.judge_found(&filed, &labels);
                drop(stripe);
                if role == Role::Variant {
                    self.shelf.keep_variants(filed.key_hash(), None);
                }
            }
            Err(Unread::Unfit(why)) => {
                // The key and therefore its stripe are unknown: the file is checked again under all stripes.
                let _stripes = self.shelf.all_stripes();
                if self.shelf.catalogue.lock().find(name).is_none() {
                    self.shelf.quarantine(name, why);
                }
            }
            Err(Unread::Missing) => {}
            Err(Unread::Failed(error)) => self.shelf.health.troubled("open()", path, error),
        }
    }

    /// Removes a file of a fetch that began with number `from` or later. Returns whether the file was removed.
    fn void_newer(&self, name: Name, from: u64) -> bool {
        let header = read::open(&self.shelf.files, name)
            .map_err(Unread::from)
            .and_then(|file| read::header(&self.shelf.files, &file));
        let Ok((header, _)) = header else { return false };
        if header.generation < from {
            return false;
        }
        self.shelf.catalogue.lock().doom_unknown(name, header.key_hash);
        self.shelf.bury(name, header.key_hash);
        true
    }

    /// Checks a file that was just found against purges of keys and labels. Rules are checked later.
    fn judge_found(&self, filed: &Filed, labels: &[u64]) {
        if let Some(memory) = self.shelf.memory.upgrade()
            && filed.role != Role::Marker
        {
            let verdict = memory.judge_exact(filed.generation, filed.key_hash(), labels);
            self.shelf.obey(filed, verdict, memory.sequence().saturating_sub(1));
        }
    }

    /// Continues with the numbers of a new start, after the files of a newer process that is gone have been removed.
    fn end_voiding(&self, start: &Mutex<Option<Start>>) -> io::Result<()> {
        let (epoch, former) = self.purges.renumber()?;
        *start.lock() = Some(Start { epoch, former });
        self.folder.take(epoch)
    }

    fn end(&self, progress: &mut Progress, start: &Mutex<Option<Start>>) {
        progress.stage = Stage::Done;
        if let Some(from) = progress.void.take() {
            if let Err(error) = self.end_voiding(start) {
                progress.begin_voiding(&self.shelf.files.root, from);
                return self.shelf.health.failed("write()", &self.shelf.files.root, error);
            }
            if self.shelf.catalogue.lock().complete {
                return;
            }
        }
        let now_s = (self.shelf.health.now() / 1000) as u32;
        {
            let mut catalogue = self.shelf.catalogue.lock();
            if !progress.ordered {
                catalogue.sort_by_use();
            }
            // No page could be requested while the process was stopped, so `inactive` counts from now.
            catalogue.all_used(now_s);
            catalogue.complete();
        }
        self.warm_up(progress);
        let stats = self.shelf.stats();
        let took_ms = progress.began.map_or(0, |began| began.elapsed().as_millis() as u64);
        self.shelf.health.tell(&DiskEvent::Recovered { files: stats.files, bytes: stats.bytes, took_ms });
    }
}
