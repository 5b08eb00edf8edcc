//! Tables of locks, shared by all workers: a zone contains the locks by file path (RFC 4918 section 6).

use std::collections::{BTreeMap, HashMap};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// Exclusive write lock of a WebDAV resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lock {
    /// Token that identifies the lock: an unpredictable URI.
    pub token: String,
    /// Set if the lock of a directory includes its contents (`Depth: infinity`).
    pub deep: bool,
    /// Owner of the lock, as stated by the client.
    pub owner: String,
    /// Escaped URI that the client locked: the element `lockroot` (RFC 4918 section 14.12).
    pub root: String,
    /// Time at which the lock expires, in milliseconds of the process clock.
    pub until_ms: u64,
}

/// Locks of a zone, by file path without a trailing slash.
#[derive(Debug, Default)]
pub(super) struct Locks(BTreeMap<Vec<u8>, Lock>);

/// Reason why a lock was not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockDenied {
    /// The path is locked, by itself or by a lock of a parent directory that includes its contents; or a lock with
    /// contents was requested and something below the path is locked.
    AlreadyLocked,
    /// The zone has no memory left for another lock.
    Full,
}

/// Locks by zone name, created on first use. They survive reloads.
static ZONES: LazyLock<Mutex<HashMap<Vec<u8>, Locks>>> = LazyLock::new(Mutex::default);

/// Runs `work` with the locks of a zone, after removing those that have expired at `now_ms`.
pub(super) fn with_zone<T>(zone: &[u8], now_ms: u64, work: impl FnOnce(&mut Locks) -> T) -> T {
    let mut zones: MutexGuard<'_, _> = ZONES.lock().unwrap_or_else(PoisonError::into_inner);
    let locks = zones.entry(zone.to_vec()).or_default();
    locks.0.retain(|_, lock| lock.until_ms > now_ms);
    work(locks)
}

/// Accounted size of a lock in addition to its texts, in bytes.
const OVERHEAD: usize = 256;

/// Returns the number of bytes that a lock counts towards the size of its zone.
fn accounted_size(path: &[u8], lock: &Lock) -> usize {
    path.len() + lock.owner.len() + lock.root.len() + OVERHEAD
}

impl Locks {
    /// Returns the lock that applies to a path, and the locked path: a lock of the path itself, otherwise the nearest
    /// of a parent directory that includes its contents. `None` if there is neither.
    pub(super) fn covering_lock(&self, path: &[u8]) -> Option<(&[u8], &Lock)> {
        let own = self.0.get_key_value(path);
        let around = ancestors(path).filter_map(|folder| self.0.get_key_value(folder));
        own.or_else(|| around.into_iter().find(|(_, lock)| lock.deep)).map(|(path, lock)| (&path[..], lock))
    }

    /// Returns the locks that a change of a path affects; the request must contain the tokens of all of them. These are
    /// the lock that applies to the path, the lock of its parent directory, and, if `deep`, all locks below the path.
    pub(super) fn locks_required_by(&self, path: &[u8], deep: bool) -> Vec<&Lock> {
        let of_folder = ancestors(path).next().and_then(|folder| self.0.get(folder));
        let mut locks: Vec<&Lock> =
            self.covering_lock(path).map(|(_, lock)| lock).into_iter().chain(of_folder).collect();
        if deep {
            locks.extend(self.below(path).map(|(_, lock)| lock));
        }
        locks
    }

    fn below(&self, path: &[u8]) -> impl Iterator<Item = (&Vec<u8>, &Lock)> {
        let beginning = [path, b"/"].concat();
        let from = self.0.range(beginning.clone()..);
        from.take_while(move |(other, _)| other.starts_with(&beginning))
    }

    /// Returns a copy of the locks above, at and below a path.
    pub(super) fn copy_near(&self, path: &[u8]) -> Self {
        let above = ancestors(path).chain([path]).filter_map(|path| self.0.get_key_value(path));
        Self(above.chain(self.below(path)).map(|(path, lock)| (path.clone(), lock.clone())).collect())
    }

    /// Adds a lock. Returns an error if a lock applies to the path, if the new one includes the contents of a
    /// directory in which a path is locked, or if the zone of `size` bytes is full.
    pub(super) fn add(&mut self, path: &[u8], lock: Lock, size: u64) -> Result<(), LockDenied> {
        if self.covering_lock(path).is_some() || (lock.deep && self.below(path).next().is_some()) {
            return Err(LockDenied::AlreadyLocked);
        }
        let used: usize = self.0.iter().map(|(path, lock)| accounted_size(path, lock)).sum();
        if (used + accounted_size(path, &lock)) as u64 > size {
            return Err(LockDenied::Full);
        }
        self.0.insert(path.to_vec(), lock);
        Ok(())
    }

    /// Renews the lock that applies to a path until `until_ms`, and returns it; `None` if there is no lock or its token
    /// is not in `tokens`.
    pub(super) fn renew(&mut self, path: &[u8], tokens: &[&str], until_ms: u64) -> Option<Lock> {
        let at = self.covering_lock(path).filter(|(_, lock)| tokens.contains(&&*lock.token))?.0.to_vec();
        let lock = self.0.get_mut(&at)?;
        lock.until_ms = until_ms;
        Some(lock.clone())
    }

    /// Removes the lock that applies to a path. Returns false if there is no lock or its token differs.
    pub(super) fn remove(&mut self, path: &[u8], token: &str) -> bool {
        let Some((at, _)) = self.covering_lock(path).filter(|(_, lock)| lock.token == token) else {
            return false;
        };
        let at = at.to_vec();
        self.0.remove(&at).is_some()
    }

    /// Removes the locks at and below a path that no longer exists.
    pub(super) fn forget(&mut self, path: &[u8]) {
        let beginning = [path, b"/"].concat();
        self.0.retain(|other, _| other != path && !other.starts_with(&beginning));
    }
}

/// Returns the parent directories of a path, without the root, the nearest first.
fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().rev().filter(|(at, byte)| **byte == b'/' && *at > 0).map(|(at, _)| &path[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(token: &str, deep: bool) -> Lock {
        Lock { token: token.to_owned(), deep, owner: String::new(), root: String::new(), until_ms: 100 }
    }

    #[test]
    fn folder_is_locked_with_or_without_what_is_in_it() {
        let mut locks = Locks::default();
        locks.add(b"/a", lock("deep", true), 10_000).unwrap();
        locks.add(b"/b", lock("flat", false), 10_000).unwrap();
        let token = |path: &[u8]| locks.covering_lock(path).map(|(_, lock)| &*lock.token);
        assert_eq!((token(b"/a"), token(b"/a/x/y")), (Some("deep"), Some("deep")));
        assert_eq!((token(b"/b"), token(b"/b/x"), token(b"/ab")), (Some("flat"), None, None));
        assert_eq!(
            locks.locks_required_by(b"/b/x", false).len(),
            1,
            "the lock of the folder is required if its names change"
        );
        assert_eq!(locks.locks_required_by(b"/b/x/y", false).len(), 0);
        assert_eq!(locks.locks_required_by(b"/", true).len(), 0);
    }

    #[test]
    fn locks_around_a_path_are_those_above_and_below() {
        let mut locks = Locks::default();
        for path in [&b"/a"[..], b"/a/b/c", b"/a/b/d", b"/a/bb", b"/b"] {
            locks.add(path, lock("1", false), 10_000).unwrap();
        }
        let around: Vec<_> = locks.copy_near(b"/a/b").0.into_keys().collect();
        assert_eq!(around, [&b"/a"[..], b"/a/b/c", b"/a/b/d"]);
        assert_eq!(locks.copy_near(b"/a/bb").0.len(), 2);
    }

    #[test]
    fn locks_exclude_each_other_and_are_bounded() {
        let mut locks = Locks::default();
        locks.add(b"/a/b", lock("1", false), 10_000).unwrap();
        assert_eq!(locks.add(b"/a/b", lock("2", false), 10_000), Err(LockDenied::AlreadyLocked));
        assert_eq!(locks.add(b"/a", lock("2", true), 10_000), Err(LockDenied::AlreadyLocked));
        locks.add(b"/a", lock("2", false), 10_000).unwrap();
        assert_eq!(locks.add(b"/c", lock("3", false), 600), Err(LockDenied::Full));
        assert_eq!(locks.locks_required_by(b"/a", true).len(), 2);
        assert!(!locks.remove(b"/a/b", "2") && locks.remove(b"/a/b", "1"));
        assert!(locks.renew(b"/a", &["1"], 200).is_none());
        assert_eq!(locks.renew(b"/a", &["1", "2"], 200).map(|lock| lock.until_ms), Some(200));
        locks.forget(b"/a");
        assert!(locks.covering_lock(b"/a").is_none());
    }

    #[test]
    fn locks_of_a_zone_end_with_their_time() {
        let zone = b"test of the time of locks";
        with_zone(zone, 0, |locks| locks.add(b"/a", lock("1", false), 10_000)).unwrap();
        assert!(with_zone(zone, 99, |locks| locks.covering_lock(b"/a").is_some()));
        assert!(with_zone(zone, 100, |locks| locks.covering_lock(b"/a").is_none()));
    }
}
