//! Finding the files that a former process left, while pages are served already.

use std::collections::VecDeque;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use std::{fs, io};

use super::catalogue::{Filed, Role, blocks_of, halves};
use super::format::Kind;
use super::name::Name;
use super::options::DiskEvent;
use super::read::{self, Unread};
use super::sequence::EPOCH;
use super::shelf::Shelf;
use super::snapshot;

/// Pages that are brought into memory before anybody asks for them.
const WARM: usize = 4096;

/// How far the recovery has come.
#[derive(Debug, Default)]
pub(crate) struct Recovery {
    stage: Stage,
    /// Folders still to be read, with the depth of each.
    folders: Vec<(PathBuf, usize)>,
    /// Files of the folder being read.
    files: VecDeque<PathBuf>,
    /// Whether a snapshot told what was used when.
    ordered: bool,
    /// Hottest first.
    warm: VecDeque<(Name, u128)>,
    began: Option<Instant>,
    /// Files of fetches that began with this number or later are removed: another process wrote them, which is gone.
    void: Option<u64>,
}

impl Recovery {
    /// Has the folder gone through (again), and removes what newer processes have written: numbers from `from` on.
    pub(crate) fn begin_voiding(&mut self, root: &Path, from: u64) {
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

impl Shelf {
    /// Does a bounded part of the recovery; how long to wait before the next, `None` once there is none.
    pub(crate) fn recover(self: &Arc<Self>) -> Option<Duration> {
        let mut recovery = self.recovery.lock();
        let pace = self.limits.read().loader;
        match recovery.stage {
            Stage::Done => return None,
            Stage::Snapshot => {
                recovery.began = Some(Instant::now());
                self.clean_temporary();
                self.recall(&mut recovery);
                recovery.folders.push((self.root.clone(), 0));
                recovery.stage = Stage::Walk;
                // A folder with little in it is known at once.
                self.walk(&mut recovery, pace.files, Duration::from_millis(pace.threshold_ms));
            }
            Stage::Walk => self.walk(&mut recovery, pace.files, Duration::from_millis(pace.threshold_ms)),
        }
        Some(Duration::from_millis(if recovery.stage == Stage::Done { 0 } else { pace.sleep_ms }))
    }

    /// What former starts had begun, whose processes were killed or have left the turn.
    fn clean_temporary(&self) {
        let own = self.rounds.lock().epoch.map(|first| first / EPOCH);
        for entry in fs::read_dir(self.temporary()).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| u64::from_str_radix(name, 16).ok());
            if number.map(|number| number / EPOCH) != own {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn recall(&self, recovery: &mut Recovery) {
        let most = self.limits.read().max_files.min(1 << 27);
        let Some(snapshot) = snapshot::read(&self.root, self.version, &self.levels, most) else { return };
        let files = snapshot.files;
        let is_sure = self.rounds.lock().former == Some(snapshot.last_of);
        recovery.ordered = true;
        let hot =
            files.iter().rev().filter(|(filed, standing)| standing.uses > 0 && filed.role == Role::Plain);
        recovery.warm = hot.take(WARM).map(|(filed, _)| (filed.name, filed.key_hash())).collect();
        let markers = files.iter().filter(|(filed, _)| filed.role == Role::Marker);
        let varying: Vec<u128> = markers.map(|(filed, _)| filed.key_hash()).collect();
        {
            let mut catalogue = self.catalogue.lock();
            for (filed, standing) in files {
                catalogue.recall(Filed { sure: is_sure, ..filed }, standing);
            }
            for (label, name) in snapshot.labels {
                catalogue.recall_label(label, name);
            }
        }
        for hash in varying {
            self.keep_variants(hash, None);
        }
        if is_sure {
            self.recall_purges();
        }
    }

    fn walk(self: &Arc<Self>, recovery: &mut Recovery, files: u64, longest: Duration) {
        let began = Instant::now();
        let mut looked_at = 0;
        while looked_at < files.max(1) && began.elapsed() < longest && !self.closed.load(Relaxed) {
            if let Some(path) = recovery.files.pop_front() {
                self.look_at_file(&path, recovery.void);
                looked_at += 1;
            } else if let Some((folder, depth)) = recovery.folders.pop() {
                self.read_folder(recovery, &folder, depth);
                looked_at += 1;
            } else {
                return self.end_recovery(recovery);
            }
        }
        // The hottest pages come into memory between two stretches.
        self.warm_up(recovery);
    }

    fn warm_up(&self, recovery: &mut Recovery) {
        let Some(above) = self.above.upgrade() else { return };
        for _ in 0..256 {
            let Some((name, hash)) = recovery.warm.pop_front() else { return };
            if !Arc::clone(&above).warm(name, hash, self.now()) {
                return recovery.warm.clear();
            }
        }
    }

    fn read_folder(&self, recovery: &mut Recovery, folder: &Path, depth: usize) {
        self.watch.folder(folder);
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.troubled("opendir()", folder, error),
        };
        let mut files = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            if depth < self.levels.len() {
                let is_level = name.len() == usize::from(self.levels[depth])
                    && name
                        .as_bytes()
                        .iter()
                        .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte));
                if is_level && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    recovery.folders.push((entry.path(), depth + 1));
                }
            } else if Name::parse(name.as_bytes()).is_some() {
                files.push((entry.ino(), entry.path()));
            }
        }
        // In the order of their inodes, which is that on the disk more or less.
        files.sort_unstable();
        recovery.files.extend(files.into_iter().map(|(_, path)| path));
    }

    /// A file with a name of ours: entered if it is one of ours, else set aside.
    fn look_at_file(&self, path: &Path, void: Option<u64>) {
        let name = path.file_name().and_then(|name| Name::parse(name.as_bytes()));
        // One in a folder that is not its own cannot be found by its key.
        let Some(name) = name.filter(|name| self.path(*name) == path) else { return };
        if void.is_some_and(|from| self.void_newer(name, from)) {
            return;
        }
        {
            let mut catalogue = self.catalogue.lock();
            if catalogue.see(name) || catalogue.is_doomed(name) {
                return;
            }
        }
        let looked = read::open(self, name).map_err(Unread::from).and_then(|file| {
            let used_s = file.metadata()?.mtime().clamp(0, i64::from(u32::MAX)) as u32;
            let (header, len) = read::header(self, &file)?;
            let (variant, labels) = read::labels(&file, &header)?;
            Ok((header, variant as u32, labels, len, used_s))
        });
        match looked {
            Ok((header, variant, labels, len, used_s)) => {
                let stripe = self.stripe(header.key_hash);
                // It may have been removed, or entered, since it was opened.
                let still_there = fs::symlink_metadata(path).is_ok();
                let mut catalogue = self.catalogue.lock();
                if !still_there || catalogue.see(name) || catalogue.is_doomed(name) {
                    return;
                }
                if header.generation < self.barrier.load(Relaxed) {
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
                    self.keep_variants(filed.key_hash(), None);
                }
            }
            Err(Unread::Unfit(why)) => {
                // The key is unknown, and so is its stripe: it is looked at again under all who may write it.
                let _stripes = self.all_stripes();
                if self.catalogue.lock().find(name).is_none() {
                    self.set_aside(name, why);
                }
            }
            Err(Unread::Missing) => {}
            Err(Unread::Failed(error)) => self.troubled("open()", path, error),
        }
    }

    /// Removes a file of a fetch that began with the number `from` or later; whether it was one.
    fn void_newer(&self, name: Name, from: u64) -> bool {
        let header = read::open(self, name).map_err(Unread::from).and_then(|file| read::header(self, &file));
        let Ok((header, _)) = header else { return false };
        if header.generation < from {
            return false;
        }
        self.catalogue.lock().doom_unknown(name, header.key_hash);
        self.bury(name, header.key_hash);
        true
    }

    /// A purge that came before a file was known is asked about it now; rules are asked later.
    fn judge_found(&self, filed: &Filed, labels: &[u64]) {
        if let Some(above) = self.above.upgrade()
            && filed.role != Role::Marker
        {
            let verdict = above.judge_marks(filed.generation, filed.key_hash(), labels);
            self.obey(filed, verdict, above.sequence().saturating_sub(1));
        }
    }

    fn end_recovery(&self, recovery: &mut Recovery) {
        recovery.stage = Stage::Done;
        if let Some(from) = recovery.void.take() {
            if let Err(error) = self.end_voiding() {
                recovery.begin_voiding(&self.root, from);
                return self.failed("write()", &self.root, error);
            }
            if self.catalogue.lock().complete {
                return;
            }
        }
        let now_s = (self.now() / 1000) as u32;
        {
            let mut catalogue = self.catalogue.lock();
            if !recovery.ordered {
                catalogue.sort_by_use();
            }
            // Nobody could ask while the process was away: `inactive` counts from now.
            catalogue.all_used(now_s);
            catalogue.complete();
        }
        self.warm_up(recovery);
        let stats = self.stats();
        let took_ms = recovery.began.map_or(0, |began| began.elapsed().as_millis() as u64);
        self.tell(&DiskEvent::Recovered { files: stats.files, bytes: stats.bytes, took_ms });
    }
}
