//! State of the optimized form of a page (`optimize`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Counters of the page optimizer for a zone.
#[derive(Debug, Default)]
pub struct OptimizedCounts {
    /// Number of optimized forms that were made.
    pub forms: AtomicU64,
    /// Number of pages without an optimized form: they cannot be optimized, or no filter changed them.
    pub unchanged: AtomicU64,
    /// Number of forms whose use ended because one of their files had changed.
    pub revoked: AtomicU64,
    /// Number of bytes by which the forms are shorter than their pages, without bundles.
    pub bytes_saved: AtomicU64,
    /// Number of copies of images.
    pub image_copies: AtomicU64,
    /// Number of images without a copy: it would not be smaller, may look different, or could not be made.
    pub images_unchanged: AtomicU64,
    /// Number of bytes by which the copies are shorter than the images.
    pub image_bytes_saved: AtomicU64,
    /// Time that the filters and the copies of images took, in milliseconds.
    pub filter_ms: AtomicU64,
}

/// State of the optimized form of a page, or the result that the page has none.
#[derive(Debug, Default)]
pub struct OptimizedState {
    /// Identifies the settings with which the optimized form was made. With other settings, the form is not served.
    settings: u64,
    /// Files that were read, in the order of the page.
    files: Box<[FileVersion]>,
    /// Names of the bundles that the form refers to. A bundle remains available while its name is in use.
    bundles: Box<[Arc<str>]>,
    /// Result of each filter, as JSON.
    report: Box<str>,
    /// Time from which the files are checked again, in milliseconds since the epoch.
    check_at: AtomicU64,
    is_revoked: AtomicBool,
}

/// File that was read for the optimized form of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileVersion {
    /// Path and query of the file's URL.
    pub target: Box<[u8]>,
    /// Hash that differs between versions of the file; 0 if there is no file that anonymous clients may read.
    pub version: u64,
}

impl OptimizedState {
    /// Creates the state of an optimized form that was made at `now`, in milliseconds since the epoch, from these
    /// files.
    pub fn new(
        settings: u64,
        files: Vec<FileVersion>,
        bundles: Vec<Arc<str>>,
        report: String,
        now: u64,
    ) -> Self {
        Self {
            settings,
            files: files.into(),
            bundles: bundles.into(),
            report: report.into(),
            check_at: AtomicU64::new(now + Self::CHECK_MS),
            is_revoked: AtomicBool::new(false),
        }
    }

    /// Time between two checks of the files of a page, in milliseconds.
    pub const CHECK_MS: u64 = 2_000;

    /// Returns whether the optimized form may be served: it was made with these settings, and [`Self::revoke`] was not
    /// called.
    #[inline]
    pub fn is_valid(&self, settings: u64) -> bool {
        self.settings == settings && !self.is_revoked.load(Relaxed)
    }

    /// Returns true if the files must be checked now, and schedules the next check. Always false for a form without
    /// files. `now` is in milliseconds since the epoch.
    #[inline]
    pub fn begin_check(&self, now: u64) -> bool {
        let due = self.check_at.load(Relaxed);
        now >= due
            && !self.files.is_empty()
            && self.check_at.compare_exchange(due, now + Self::CHECK_MS, Relaxed, Relaxed).is_ok()
    }

    /// Marks the optimized form as invalid, because a file has changed: it is not served any more.
    pub fn revoke(&self) {
        self.is_revoked.store(true, Relaxed);
    }

    /// Returns true after [`Self::revoke`].
    pub fn is_revoked(&self) -> bool {
        self.is_revoked.load(Relaxed)
    }

    /// Returns the files that were read.
    pub fn files(&self) -> &[FileVersion] {
        &self.files
    }

    /// Returns the names of the bundles that the form refers to.
    pub fn bundles(&self) -> &[Arc<str>] {
        &self.bundles
    }

    /// Returns the result of each filter, as JSON.
    pub fn report(&self) -> &str {
        &self.report
    }

    /// Returns a state for an equal form of another page. The time of the next check of the files is the same.
    #[must_use]
    pub fn copy(&self) -> Self {
        Self {
            settings: self.settings,
            files: self.files.clone(),
            bundles: self.bundles.clone(),
            report: self.report.clone(),
            check_at: AtomicU64::new(self.check_at.load(Relaxed)),
            is_revoked: AtomicBool::new(self.is_revoked()),
        }
    }

    /// Returns the number of heap bytes that the state owns, without the names of bundles, which are shared.
    pub(super) fn heap_bytes(&self) -> usize {
        let files = self.files.iter().map(|file| size_of::<FileVersion>() + file.target.len());
        files.sum::<usize>() + size_of_val(&*self.bundles) + self.report.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(settings: u64) -> OptimizedState {
        let file = FileVersion { target: (*b"/a.css").into(), version: 7 };
        OptimizedState::new(settings, vec![file], vec!["b".into()], String::new(), 1000)
    }

    #[test]
    fn form_is_valid_for_its_settings_until_it_is_revoked() {
        let state = state(3);
        assert!(state.is_valid(3) && !state.is_valid(4));
        let copy = state.copy();
        state.revoke();
        assert!(!state.is_valid(3) && copy.is_valid(3));
        assert_eq!((copy.files(), Arc::strong_count(&copy.bundles()[0])), (state.files(), 2));
    }

    #[test]
    fn files_are_checked_once_in_an_interval() {
        let state = state(3);
        let later = 1000 + OptimizedState::CHECK_MS;
        assert!(!state.begin_check(later - 1));
        assert!(state.begin_check(later) && !state.begin_check(later));
        assert!(state.begin_check(later + OptimizedState::CHECK_MS));
        assert!(!OptimizedState::default().begin_check(u64::MAX), "no files");
    }
}
