//! What is known of paths, shared by all workers (nginx's `open_file_cache`, and the memory for small files).

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use foldhash::fast::RandomState;
use parking_lot::Mutex;

use super::entry::Entry;
use super::path::as_path;

const SHARDS: usize = 16;
/// Paths kept by a shard; a flood of names that do not exist must not fill the memory.
const PATHS_PER_SHARD: usize = 2048;
/// Bytes of contents and encodings kept by a shard: 64 MB in all.
const BYTES_PER_SHARD: usize = 4 << 20;

type Shard = HashMap<Box<[u8]>, Arc<Entry>, RandomState>;

/// How long what is known of a path is believed, milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Validity {
    /// Where something is there (`open_file_cache_valid`).
    pub found_ms: u64,
    /// Where nothing is (`open_file_cache_errors`).
    pub missing_ms: u64,
}

impl Validity {
    /// When what is known of a path has to be asked anew, milliseconds since the epoch.
    pub(crate) fn until_ms(self, entry: &Entry) -> u64 {
        let valid_ms = if entry.exists() { self.found_ms } else { self.missing_ms };
        entry.checked_ms().saturating_add(valid_ms)
    }
}

/// Paths and what is known of them.
pub(crate) struct FileCache {
    shards: [Mutex<Shard>; SHARDS],
    hasher: RandomState,
}

impl Default for FileCache {
    fn default() -> Self {
        Self { shards: std::array::from_fn(|_| Mutex::default()), hasher: RandomState::default() }
    }
}

impl FileCache {
    /// What is known of `path`, no older than `validity` says.
    pub(crate) fn look(&self, path: &[u8], validity: Validity, now: u64) -> Arc<Entry> {
        let shard = &self.shards[self.hasher.hash_one(path) as usize % SHARDS];
        let known = shard.lock().get(path).cloned();
        if let Some(entry) = known {
            if now < validity.until_ms(&entry) {
                return entry;
            }
            if entry.unchanged(as_path(path)) {
                entry.checked_ms.store(now, Relaxed);
                return entry;
            }
        }
        let entry = Arc::new(Entry::look(as_path(path), now));
        let mut shard = shard.lock();
        match shard.entry(path.into()) {
            Slot::Occupied(mut slot) => {
                slot.insert(Arc::clone(&entry));
            }
            Slot::Vacant(slot) => {
                slot.insert(Arc::clone(&entry));
                bound(&mut shard);
            }
        }
        entry
    }

    /// Drops what is beyond the bounds; called by a sweep, since contents and encodings arrive after the entry.
    pub(crate) fn sweep(&self) {
        for shard in &self.shards {
            bound(&mut shard.lock());
        }
    }
}

/// Drops the entries that were not asked for longest until the shard is within its bounds.
fn bound(shard: &mut Shard) {
    let weight: usize = shard.values().filter_map(|entry| entry.file()).map(super::FileEntry::weight).sum();
    if shard.len() <= PATHS_PER_SHARD && weight <= BYTES_PER_SHARD {
        return;
    }
    let mut ages: Vec<u64> = shard.values().map(|entry| entry.checked_ms()).collect();
    let middle = ages.len() / 2;
    let (_, median, _) = ages.select_nth_unstable(middle);
    let median = *median;
    let before = shard.len();
    shard.retain(|_, entry| entry.checked_ms() > median);
    if shard.len() == before {
        shard.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_script::FileTest;

    fn exists(cache: &FileCache, path: &[u8], validity: Validity, now: u64) -> bool {
        cache.look(path, validity, now).passes(FileTest::Exists)
    }

    fn is_file(cache: &FileCache, path: &[u8], validity: Validity, now: u64) -> bool {
        cache.look(path, validity, now).passes(FileTest::File)
    }

    const SECOND: Validity = Validity { found_ms: 1000, missing_ms: 1000 };

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
        let entry = cache.look(key, SECOND, 6_500);
        entry.file().unwrap().load(&path).unwrap();
        std::fs::write(&path, "other").unwrap();
        assert_eq!(cache.look(key, SECOND, 6_900).file().unwrap().contents().unwrap(), "one");
        assert_eq!(cache.look(key, SECOND, 7_100).file().unwrap().length, 5);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn flood_of_missing_names_stays_bounded() {
        let cache = FileCache::default();
        for index in 0..100_000u64 {
            cache.look(format!("/nonexistent/{index}").as_bytes(), SECOND, index);
        }
        let held: usize = cache.shards.iter().map(|shard| shard.lock().len()).sum();
        assert!(held <= SHARDS * PATHS_PER_SHARD, "{held}");
    }

    #[test]
    fn missing_file_is_believed_missing_for_its_own_time() {
        let folder = std::env::temp_dir().join(format!("myriad-missing-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("late.css");
        let key = path.as_os_str().as_encoded_bytes();
        let cache = FileCache::default();
        let minute = Validity { found_ms: 60_000, missing_ms: 1000 };
        assert!(!exists(&cache, key, minute, 5_000));
        std::fs::write(&path, "").unwrap();
        assert!(!exists(&cache, key, minute, 5_999));
        assert!(exists(&cache, key, minute, 6_000));
        std::fs::remove_file(&path).unwrap();
        assert!(exists(&cache, key, minute, 65_999));
        assert!(!exists(&cache, key, minute, 66_000));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
