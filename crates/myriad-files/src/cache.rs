//! Cache of path states, shared by all workers: nginx's `open_file_cache`, and the contents of small files.

use std::collections::HashMap;
use std::fs::Metadata;
use std::hash::BuildHasher;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use foldhash::fast::RandomState;
use parking_lot::Mutex;

use crate::entry::{CachedFileTotals, FileEntry, PathEntry};
use crate::symlinks::PathResolution;
use crate::system_error::SystemError;

const SHARDS: usize = 16;
/// Maximum number of cached paths per shard of a [`FileCache`], so that requests for many missing names cannot exhaust
/// memory.
const PATHS_PER_SHARD: usize = 2048;
/// Maximum number of bytes of cached file contents and encodings per shard of a [`FileCache`]: 64 MB in total.
const BYTES_PER_SHARD: usize = 4 << 20;

/// Maximum number of open files per shard of a [`FileCache`] if there are enough file descriptors: 1024 in total.
const OPEN_PER_SHARD: usize = 64;
/// Idle time after which an entry is evicted, in milliseconds (nginx's default of `open_file_cache inactive`).
const INACTIVE_MS: u64 = 60_000;

/// Entries by path. If a path is looked up with several [`PathResolution`]s, the entries after the first are stored
/// under [`PathResolution::key`].
type Entries = HashMap<Box<[u8]>, CachedPath, RandomState>;

/// Entry with the [`PathResolution`] by which it was looked up, because a path may be allowed by one and rejected by
/// another.
struct CachedPath {
    walk: PathResolution,
    entry: Arc<PathEntry>,
}

#[derive(Default)]
struct Shard {
    entries: Mutex<Entries>,
    totals: Arc<CachedFileTotals>,
}

/// Times for which cache entries are used before the path is checked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// Validity of an existing path in milliseconds (`open_file_cache_valid`).
    pub found_ms: u64,
    /// Validity of a missing path in milliseconds (`open_file_cache_errors`).
    pub missing_ms: u64,
    /// Time in milliseconds after the last change of a path during which its entry is checked at each use: the path may
    /// be in the middle of a change, and two changes within a clock tick cannot be distinguished. 0 disables this
    /// check; it is 0 if `open_file_cache` is configured.
    pub settling_ms: u64,
}

impl Validity {
    /// Returns the time from which an entry must be checked again, in milliseconds since the Unix epoch.
    pub fn until_ms(self, entry: &PathEntry) -> u64 {
        let unsettled = entry.checked_ms() < entry.changed_ms().saturating_add(self.settling_ms);
        let valid_ms = match entry.exists() {
            true if unsettled && self.settling_ms > 0 => 0,
            true => self.found_ms,
            false => self.missing_ms,
        };
        entry.checked_ms().saturating_add(valid_ms)
    }
}

/// Cache of path states. It contains at most 32768 paths, 64 MB of contents and 1024 open files; the limits are
/// enforced when an entry is added and by [`Self::sweep`]. Evicted files that are being sent are not counted.
pub struct FileCache {
    shards: [Shard; SHARDS],
    open_per_shard: AtomicUsize,
    bytes_per_shard: AtomicUsize,
    hasher: RandomState,
}

impl Default for FileCache {
    fn default() -> Self {
        Self {
            shards: std::array::from_fn(|_| Shard::default()),
            open_per_shard: AtomicUsize::new(OPEN_PER_SHARD),
            bytes_per_shard: AtomicUsize::new(BYTES_PER_SHARD),
            hasher: RandomState::default(),
        }
    }
}

impl FileCache {
    /// Returns the entry of `path`, resolved by `walk`. `now` is in milliseconds since the Unix epoch. Blocks for the
    /// system calls of [`PathResolution::metadata`] if there is no entry or it must be checked; does not read the file.
    /// If the system has no free descriptor or memory for the check, returns the existing entry. The entry of another error
    /// that may be temporary, such as an I/O error, is returned but not stored.
    pub fn lookup(&self, path: &[u8], walk: PathResolution, validity: Validity, now: u64) -> Arc<PathEntry> {
        self.lookup_with(path, walk, validity, now, || walk.metadata(path))
    }

    /// Looks up an entry as [`FileCache::lookup`] does. `read` returns the metadata of the path.
    fn lookup_with(
        &self,
        path: &[u8],
        walk: PathResolution,
        validity: Validity,
        now: u64,
        read: impl FnOnce() -> io::Result<Metadata>,
    ) -> Arc<PathEntry> {
        let shard = self.shard(path);
        let known = shard.cached_entry(path, walk);
        if let Some(entry) = &known {
            entry.mark_used(now);
            if now < validity.until_ms(entry) {
                return Arc::clone(entry);
            }
        }
        let metadata = read();
        let error = metadata.as_ref().err().map(SystemError::of);
        if let Some(entry) = known {
            if entry.is_unchanged(&metadata) {
                entry.checked_ms.store(now, Relaxed);
                return entry;
            }
            // The path could not be checked: it has probably not changed. A later lookup checks it again.
            if error.is_some_and(SystemError::is_exhaustion) {
                return entry;
            }
        }
        let entry = Arc::new(PathEntry::of(metadata, now, &shard.totals));
        if error.is_some_and(SystemError::may_be_temporary) {
            return entry;
        }
        shard.insert(path, CachedPath { walk, entry: Arc::clone(&entry) }, self.bounds());
        entry
    }

    /// Makes the next lookup check the entry, because the file turned out to have changed.
    pub fn forget(entry: &PathEntry) {
        entry.checked_ms.store(0, Relaxed);
    }

    /// Removes the entries of `path` and of all paths below it, for all [`PathResolution`]s. Scans all entries, so it
    /// is meant for changes of files, which are rare compared to lookups.
    pub fn forget_below(&self, path: &[u8]) {
        for shard in &self.shards {
            // In a key, a zero byte precedes the resolution, and a slash precedes a name in the folder.
            shard.entries.lock().retain(|key, _| {
                !key.strip_prefix(path).is_some_and(|rest| matches!(rest.first(), None | Some(0 | b'/')))
            });
        }
    }

    /// Removes idle entries, and entries beyond the limits: loading contents after the lookup can exceed them. To be
    /// called periodically.
    pub fn sweep(&self, now: u64) {
        for shard in &self.shards {
            let mut entries = shard.entries.lock();
            entries.retain(|_, known| now < known.entry.used_ms().saturating_add(INACTIVE_MS));
            shard.enforce_bounds(&mut entries, self.bounds());
        }
    }

    /// Limits the number of open files to `most` in total. Each shard may have the same share of them, at least 1 and
    /// at most 64 files. Evicted files that are being sent stay open.
    pub fn keep_open(&self, most: usize) {
        self.open_per_shard.store((most / SHARDS).clamp(1, OPEN_PER_SHARD), Relaxed);
    }

    /// Limits contents and encodings to `numerator / denominator` of 64 MB (a denominator of 0 counts as 1). The limit
    /// is enforced by the next new entry of a shard and by [`Self::sweep`]. With 0, only the contents of files that are
    /// being sent stay in memory.
    pub fn keep_part(&self, numerator: usize, denominator: usize) {
        self.bytes_per_shard.store(BYTES_PER_SHARD * numerator / denominator.max(1), Relaxed);
    }

    /// Returns the number of bytes of contents and encodings in memory, including evicted files that are being sent.
    pub fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| shard.totals.bytes.load(Relaxed)).sum()
    }

    /// Returns the limits per shard: number of open files, and bytes of contents.
    fn bounds(&self) -> (usize, usize) {
        (self.open_per_shard.load(Relaxed), self.bytes_per_shard.load(Relaxed))
    }

    /// Removes the entries of all open files that are not being sent. Returns true if there were any.
    pub fn close_unused(&self) -> bool {
        let mut found = false;
        for shard in &self.shards {
            shard.entries.lock().retain(|_, CachedPath { entry, .. }| {
                let is_open = entry.file().is_some_and(|file| file.open_files() > 0);
                let is_unused = is_open && Arc::strong_count(entry) == 1;
                found |= is_unused;
                !is_unused
            });
        }
        found
    }

    fn shard(&self, path: &[u8]) -> &Shard {
        &self.shards[self.hasher.hash_one(path) as usize % SHARDS]
    }
}

impl Shard {
    /// Returns the entry of `path` that was resolved by `walk`. Returns `None` if there is none, and if no entry of
    /// `path` is stored under the path itself, for any resolution.
    fn cached_entry(&self, path: &[u8], walk: PathResolution) -> Option<Arc<PathEntry>> {
        let entries = self.entries.lock();
        let first = entries.get(path)?;
        if first.walk == walk {
            return Some(Arc::clone(&first.entry));
        }
        entries.get(&walk.key(path)[..]).map(|known| Arc::clone(&known.entry))
    }

    fn insert(&self, path: &[u8], known: CachedPath, bounds: (usize, usize)) {
        let mut entries = self.entries.lock();
        let has_other = entries.get(path).is_some_and(|first| first.walk != known.walk);
        let key = if has_other { known.walk.key(path).into() } else { path.into() };
        if entries.insert(key, known).is_none() {
            self.enforce_bounds(&mut entries, bounds);
        }
    }

    /// Evicts the least recently used entries until the shard is within its limits.
    fn enforce_bounds(&self, entries: &mut Entries, (open, bytes): (usize, usize)) {
        while entries.len() > PATHS_PER_SHARD {
            evict_older_half(entries, |_| true);
        }
        // The totals include evicted files that are being sent, so the entries are summed up before any is evicted.
        if self.totals.bytes.load(Relaxed) > bytes {
            while sum_over_files(entries, FileEntry::weight) > bytes {
                evict_older_half(entries, |file| file.is_some_and(|file| file.weight() > 0));
            }
        }
        if self.totals.descriptors.load(Relaxed) > open {
            while sum_over_files(entries, FileEntry::open_files) > open {
                evict_older_half(entries, |file| file.is_some_and(|file| file.open_files() > 0));
            }
        }
    }
}

fn sum_over_files(entries: &Entries, of: impl Fn(&FileEntry) -> usize) -> usize {
    entries.values().filter_map(|known| known.entry.file()).map(of).sum()
}

/// Evicts the least recently used half of the entries for which `meant` returns true; more if several have the same
/// age.
fn evict_older_half(entries: &mut Entries, meant: impl Fn(Option<&FileEntry>) -> bool) {
    let mut ages: Vec<u64> = entries
        .values()
        .map(|known| &known.entry)
        .filter(|entry| meant(entry.file()))
        .map(|entry| entry.used_ms())
        .collect();
    if ages.is_empty() {
        return;
    }
    let middle = (ages.len() - 1) / 2;
    let (_, median, _) = ages.select_nth_unstable(middle);
    let median = *median;
    entries.retain(|_, known| known.entry.used_ms() > median || !meant(known.entry.file()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::PathKind;
    use myriad_script::FileTest;
    use rustix::io::Errno;

    fn exists(cache: &FileCache, path: &[u8], validity: Validity, now: u64) -> bool {
        cache.lookup(path, PathResolution::Free, validity, now).passes(FileTest::Exists)
    }

    fn is_file(cache: &FileCache, path: &[u8], validity: Validity, now: u64) -> bool {
        cache.lookup(path, PathResolution::Free, validity, now).passes(FileTest::File)
    }

    const SECOND: Validity = Validity { found_ms: 1000, missing_ms: 1000, settling_ms: 0 };

    #[test]
    fn change_is_seen_after_the_validity_and_not_before() {
        let folder = std::env::temp_dir().join(format!("myriad-files-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.css");
        let key = path.as_os_str().as_encoded_bytes();
        let cache = FileCache::default();
        assert!(!exists(&cache, key, SECOND, 5_000));
        std::fs::write(&path, "one").unwrap();
        assert!(!exists(&cache, key, SECOND, 5_999));
        assert!(is_file(&cache, key, SECOND, 6_000));
        let entry = cache.lookup(key, PathResolution::Free, SECOND, 6_500);
        entry.file().unwrap().load(&path).unwrap();
        std::fs::write(&path, "other").unwrap();
        assert_eq!(
            cache.lookup(key, PathResolution::Free, SECOND, 6_900).file().unwrap().contents().unwrap(),
            "one"
        );
        assert_eq!(cache.lookup(key, PathResolution::Free, SECOND, 7_100).file().unwrap().length, 5);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn recently_modified_file_is_rechecked_until_settled() {
        let folder = std::env::temp_dir().join(format!("myriad-settling-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.css");
        let key = path.as_os_str().as_encoded_bytes();
        std::fs::write(&path, "one").unwrap();
        let settling = Validity { settling_ms: 2000, ..SECOND };
        let cache = FileCache::default();
        let now = cache.lookup(key, PathResolution::Free, SECOND, 0).changed_ms();
        let length = |now| cache.lookup(key, PathResolution::Free, settling, now).file().unwrap().length;
        assert_eq!(length(now + 1_999), 3);
        std::fs::write(&path, "other").unwrap();
        assert_eq!(length(now + 1_999), 5, "asked anew at the same moment");
        // The entry is valid: its last change was old enough when it was checked.
        assert_eq!(length(now + 60_000), 5);
        std::fs::write(&path, "much longer").unwrap();
        assert_eq!(length(now + 60_999), 5);
        assert_eq!(length(now + 61_000), 11);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn flood_of_missing_names_stays_bounded() {
        let cache = FileCache::default();
        for index in 0..100_000u64 {
            cache.lookup(format!("/nonexistent/{index}").as_bytes(), PathResolution::Free, SECOND, index);
        }
        let held: usize = cache.shards.iter().map(|shard| shard.entries.lock().len()).sum();
        assert!(held <= SHARDS * PATHS_PER_SHARD, "{held}");
    }

    #[test]
    fn temporary_error_is_not_stored() {
        let (cache, day) = (FileCache::default(), Validity { missing_ms: 86_400_000, ..SECOND });
        let lookup = |path: &[u8], errno: Errno, now| {
            let entry =
                cache.lookup_with(path, PathResolution::Free, day, now, || Err(io::Error::from(errno)));
            match entry.kind {
                PathKind::Missing(error) => error,
                _ => panic!("not an error: {errno}"),
            }
        };
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::IO] {
            assert_eq!(lookup(b"/a", errno, 5_000), SystemError::of(&errno.into()));
        }
        assert!(
            exists(&cache, b"/", day, 5_000) && !cache.shard(b"/a").entries.lock().contains_key(&b"/a"[..])
        );
        let missing = lookup(b"/a", Errno::NOENT, 5_000);
        assert_eq!(lookup(b"/a", Errno::MFILE, 5_001), missing, "the entry is valid");
        // The check fails after the end of the validity.
        assert_eq!(lookup(b"/a", Errno::MFILE, 100_000_000), missing);
        assert_eq!(lookup(b"/a", Errno::IO, 100_000_001), SystemError::of(&Errno::IO.into()));
        for errno in [Errno::NOTDIR, Errno::ACCESS, Errno::NAMETOOLONG, Errno::LOOP] {
            let path = [b"/", errno.to_string().as_bytes()].concat();
            let stored = lookup(&path, errno, 5_000);
            assert_eq!(lookup(&path, Errno::NOENT, 5_001), stored, "{errno}");
        }
    }

    #[test]
    fn missing_file_has_separate_validity() {
        let folder = std::env::temp_dir().join(format!("myriad-missing-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("late.css");
        let key = path.as_os_str().as_encoded_bytes();
        let cache = FileCache::default();
        let minute = Validity { found_ms: 60_000, missing_ms: 1000, settling_ms: 0 };
        assert!(!exists(&cache, key, minute, 5_000));
        std::fs::write(&path, "").unwrap();
        assert!(!exists(&cache, key, minute, 5_999));
        assert!(exists(&cache, key, minute, 6_000));
        std::fs::remove_file(&path).unwrap();
        assert!(exists(&cache, key, minute, 65_999));
        assert!(!exists(&cache, key, minute, 66_000));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// Temporary folder of a test, removed when dropped.
    struct CacheTestFolder(std::path::PathBuf);

    impl CacheTestFolder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("myriad-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        /// Creates a file of this length, looks it up and loads it.
        fn load(&self, cache: &FileCache, name: &str, length: u64, now: u64) -> Arc<PathEntry> {
            let path = self.0.join(name);
            std::fs::File::create(&path).unwrap().set_len(length).unwrap();
            let entry = cache.lookup(path.as_os_str().as_encoded_bytes(), PathResolution::Free, SECOND, now);
            entry.file().unwrap().load(&path).unwrap();
            entry
        }
    }

    impl Drop for CacheTestFolder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn cache_totals(cache: &FileCache) -> (usize, usize) {
        let shards = || cache.shards.iter().map(|shard| &shard.totals);
        (
            shards().map(|held| held.bytes.load(Relaxed)).sum(),
            shards().map(|held| held.descriptors.load(Relaxed)).sum(),
        )
    }

    #[test]
    fn unrequested_content_is_released_after_a_minute() {
        let folder = CacheTestFolder::new("inactive");
        let cache = FileCache::default();
        folder.load(&cache, "large", 2 << 20, 1_000);
        folder.load(&cache, "small", 1000, 1_000);
        folder.load(&cache, "used", 10, 1_000);
        assert_eq!(cache_totals(&cache), (1010, 1));
        cache.lookup(
            folder.0.join("used").as_os_str().as_encoded_bytes(),
            PathResolution::Free,
            SECOND,
            50_000,
        );
        cache.sweep(60_999);
        assert_eq!(cache_totals(&cache), (1010, 1));
        cache.sweep(61_000);
        assert_eq!(cache_totals(&cache), (10, 0));
    }

    #[test]
    fn open_files_stay_bounded_and_one_that_is_being_sent_stays_open() {
        let folder = CacheTestFolder::new("open");
        let cache = FileCache::default();
        let sent = folder.load(&cache, "first", 2 << 20, 0);
        for index in 0..2_000u64 {
            folder.load(&cache, &index.to_string(), 2 << 20, index);
        }
        // One file may have been added to each shard since its limit was enforced, and one file is being sent.
        assert!(cache_totals(&cache).1 <= SHARDS * (OPEN_PER_SHARD + 1) + 1, "{:?}", cache_totals(&cache));
        cache.sweep(2_000);
        let open_files: usize = cache
            .shards
            .iter()
            .map(|shard| sum_over_files(&shard.entries.lock(), FileEntry::open_files))
            .sum();
        assert!((SHARDS..=SHARDS * OPEN_PER_SHARD).contains(&open_files), "{open_files}");
        assert!(sent.file().unwrap().descriptor().is_some());
        cache.keep_open(40);
        cache.sweep(2_000);
        assert!(cache_totals(&cache).1 <= 2 * SHARDS + 1, "{:?}", cache_totals(&cache));
        assert!(cache.close_unused());
        assert_eq!(cache_totals(&cache).1, 1, "the one that is being sent");
        assert!(!cache.close_unused());
    }

    #[test]
    fn changed_folder_is_invalidated_with_its_contents_only() {
        let cache = FileCache::default();
        let strict = PathResolution::Checked(crate::symlinks::LinkRule::Any, 0);
        for (path, walk) in [
            ("/n/a", PathResolution::Free),
            ("/n/a", strict),
            ("/n/a/b/c", strict),
            ("/n/ab", PathResolution::Free),
        ] {
            cache.lookup(path.as_bytes(), walk, SECOND, 5_000);
        }
        cache.forget_below(b"/n/a");
        let known: Vec<_> = cache
            .shards
            .iter()
            .flat_map(|shard| shard.entries.lock().keys().cloned().collect::<Vec<_>>())
            .collect();
        assert_eq!(known, [Box::from(&b"/n/ab"[..])]);
    }

    #[test]
    fn symlink_rules_have_separate_entries_for_one_path() {
        let folder = CacheTestFolder::new("rules");
        std::fs::write(folder.0.join("file"), "text").unwrap();
        std::os::unix::fs::symlink("file", folder.0.join("link")).unwrap();
        let (path, cache) = (folder.0.join("link"), FileCache::default());
        let path = path.as_os_str().as_encoded_bytes();
        let strict = PathResolution::Checked(crate::symlinks::LinkRule::Any, 0);
        for _ in 0..2 {
            assert!(cache.lookup(path, PathResolution::Free, SECOND, 5_000).file().is_some());
            assert!(cache.lookup(path, strict, SECOND, 5_000).file().is_none());
        }
        let first = cache.lookup(path, strict, SECOND, 5_000);
        assert!(
            Arc::ptr_eq(&first, &cache.lookup(path, strict, SECOND, 5_500)),
            "it is kept beside the other"
        );
    }

    #[test]
    fn memory_stays_bounded() {
        let folder = CacheTestFolder::new("memory");
        let cache = FileCache::default();
        for index in 0..200u64 {
            folder.load(&cache, &index.to_string(), 1 << 20, index);
        }
        cache.sweep(200);
        let bytes = cache_totals(&cache).0;
        assert!((SHARDS << 20..=SHARDS * BYTES_PER_SHARD).contains(&bytes), "{bytes}");
    }

    #[test]
    fn contents_are_given_up_for_want_of_memory() {
        let folder = CacheTestFolder::new("short-of-memory");
        let cache = FileCache::default();
        for index in 0..100u64 {
            folder.load(&cache, &index.to_string(), 100_000, index);
        }
        assert!(cache.bytes() >= 10_000_000, "{}", cache.bytes());
        cache.keep_part(1, 16);
        cache.sweep(200);
        assert!((1..=SHARDS * BYTES_PER_SHARD / 16).contains(&cache.bytes()), "{}", cache.bytes());
        cache.keep_part(0, 1);
        cache.sweep(200);
        assert_eq!(cache.bytes(), 0);
    }

    #[test]
    fn replaced_file_is_not_loaded_under_the_old_length_and_is_seen_once_forgotten() {
        let folder = CacheTestFolder::new("replaced");
        let cache = FileCache::default();
        for (old, new) in [(2 << 20, 3 << 20), (3000, 3000)] {
            let path = folder.0.join("a");
            std::fs::File::create(&path).unwrap().set_len(old).unwrap();
            let key = path.as_os_str().as_encoded_bytes();
            let entry = cache.lookup(key, PathResolution::Free, SECOND, 5_000);
            let other = folder.0.join("b");
            std::fs::File::create(&other).unwrap().set_len(new).unwrap();
            std::fs::rename(&other, &path).unwrap();
            assert_eq!(entry.file().unwrap().load(&path).unwrap_err().kind(), std::io::ErrorKind::Other);
            assert!(!entry.file().unwrap().is_loaded());
            FileCache::forget(&entry);
            let entry = cache.lookup(key, PathResolution::Free, SECOND, 5_000);
            assert_eq!(entry.file().unwrap().length, new);
            entry.file().unwrap().load(&path).unwrap();
            FileCache::forget(&entry);
        }
    }
}
