//! Records of images without a copy (`convert_jpeg_to_webp`, `convert_to_webp_lossless`).

use myriad_base::bounded::Lru;
use parking_lot::Mutex;

/// Number of parts of the records, each with its own lock.
const PARTS: usize = 16;
/// Maximum number of permanent records in a part.
const MAX_PERMANENT: u64 = 1_024;
/// Maximum number of temporary records in a part.
const MAX_TEMPORARY: u64 = 256;

/// Image for which the page optimizer has made no smaller copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncopiedImage {
    /// Label of the path of the image's URL, by which purges find pages.
    pub path_label: u64,
    /// Length of the image in bytes.
    pub bytes: u64,
    /// Time of the last attempt, in milliseconds.
    pub at_ms: u64,
    /// Time from which a request may cause another attempt, in milliseconds; `None` if this version of the image will not
    /// have a copy.
    pub retry_at_ms: Option<u64>,
    /// Reason why there is no copy.
    pub reason: String,
}

/// Images of a zone without a smaller copy, by the version of their file. If there are too many, the least recently
/// added ones are dropped. Temporary failures, which are frequent under load, have a separate limit, so that they do
/// not displace permanent ones.
pub struct UncopiedImages([Mutex<RecordsPart>; PARTS]);

/// Part of [`UncopiedImages`], which a separate lock guards. A version of a file has at most one record.
struct RecordsPart {
    /// Records without a time of the next attempt.
    permanent: Lru<u64, UncopiedImage>,
    /// Records with a time of the next attempt.
    temporary: Lru<u64, UncopiedImage>,
}

impl RecordsPart {
    fn remove(&mut self, version: u64) {
        self.permanent.remove(&version);
        self.temporary.remove(&version);
    }
}

impl Default for UncopiedImages {
    fn default() -> Self {
        let part = || RecordsPart { permanent: Lru::new(MAX_PERMANENT), temporary: Lru::new(MAX_TEMPORARY) };
        Self(std::array::from_fn(|_| Mutex::new(part())))
    }
}

impl UncopiedImages {
    /// Returns true if the file version `version` has no record here, or if its record permits another attempt to make
    /// a copy at `now_ms`. Returns false after a permanent failure.
    pub fn permits(&self, version: u64, now_ms: u64) -> bool {
        let part = self.part(version).lock();
        let is_due = |image: &UncopiedImage| image.retry_at_ms.is_some_and(|at| at <= now_ms);
        part.permanent.get(&version).is_none() && part.temporary.get(&version).is_none_or(is_due)
    }

    /// Adds or replaces the record of a version of a file.
    pub fn insert(&self, version: u64, image: UncopiedImage) {
        let mut part = self.part(version).lock();
        part.remove(version);
        let records = if image.retry_at_ms.is_some() { &mut part.temporary } else { &mut part.permanent };
        records.insert(version, image, 1);
    }

    /// Removes the record of a version of a file, which has a copy now.
    pub fn remove(&self, version: u64) {
        self.part(version).lock().remove(version);
    }

    /// Returns the latest record of the image whose URL path has the label (hash) `path_label`, for any version of its
    /// file; `None` if it has no record.
    pub fn of_path(&self, path_label: u64) -> Option<UncopiedImage> {
        let latest = |part: &Mutex<RecordsPart>| {
            let part = part.lock();
            let records = part.permanent.values().chain(part.temporary.values());
            let of_path = records.filter(|image| image.path_label == path_label);
            of_path.max_by_key(|image| image.at_ms).cloned()
        };
        self.0.iter().filter_map(latest).max_by_key(|image| image.at_ms)
    }

    fn part(&self, version: u64) -> &Mutex<RecordsPart> {
        // Versions are hashes.
        &self.0[version as usize % PARTS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(path_label: u64, at_ms: u64, retry_at_ms: Option<u64>) -> UncopiedImage {
        UncopiedImage { path_label, bytes: 5, at_ms, retry_at_ms, reason: "reason".to_owned() }
    }

    #[test]
    fn attempts_are_permitted_again_after_a_temporary_error_only() {
        let images = UncopiedImages::default();
        assert!(images.permits(1, 0));
        images.insert(1, image(9, 10, Some(20)));
        images.insert(2, image(9, 11, None));
        assert!(!images.permits(1, 19) && images.permits(1, 20));
        assert!(!images.permits(2, u64::MAX));
        assert_eq!(images.of_path(9).map(|image| image.at_ms), Some(11));
        assert_eq!(images.of_path(8), None);
        images.remove(2);
        assert!(images.permits(2, 0));
    }

    #[test]
    fn number_of_records_is_bounded() {
        let images = UncopiedImages::default();
        let count = 2 * PARTS as u64 * MAX_PERMANENT;
        (0..count).for_each(|version| images.insert(version, image(version, 0, None)));
        assert!(images.permits(0, 0) && !images.permits(count - 1, 0));
        assert_eq!(images.0.iter().map(|part| part.lock().permanent.len() as u64).sum::<u64>(), count / 2);
    }

    #[test]
    fn temporary_records_do_not_displace_permanent_ones() {
        let images = UncopiedImages::default();
        images.insert(0, image(0, 0, None));
        let others = 1..2 * PARTS as u64 * MAX_PERMANENT;
        others.for_each(|version| images.insert(version, image(version, 0, Some(5))));
        assert!(!images.permits(0, u64::MAX));
        let lengths = images.0.iter().map(|part| part.lock().temporary.len() as u64);
        assert_eq!(lengths.sum::<u64>(), PARTS as u64 * MAX_TEMPORARY);
    }

    #[test]
    fn version_has_only_its_last_record() {
        let images = UncopiedImages::default();
        images.insert(1, image(9, 10, Some(20)));
        images.insert(1, image(9, 11, None));
        assert!(!images.permits(1, 30));
        images.insert(1, image(9, 12, Some(20)));
        assert!(images.permits(1, 30));
    }
}
