//! Records of images without a copy (`convert_jpeg_to_webp`, `convert_to_webp_lossless`).

use myriad_base::bounded::Lru;
use parking_lot::Mutex;

/// Number of parts of the records, each with its own lock.
const PARTS: usize = 16;
/// Maximum number of records in a part.
const MAX_RECORDS: u64 = 1_024;

/// Image without a copy.
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

/// Images of a zone without a copy, by the version of their file. The least recently added ones are forgotten if there are
/// too many.
pub struct UncopiedImages([Mutex<Lru<u64, UncopiedImage>>; PARTS]);

impl Default for UncopiedImages {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::new(Lru::new(MAX_RECORDS))))
    }
}

impl UncopiedImages {
    /// Returns whether a version of a file may have a copy, or may get one at the time `now_ms`.
    pub fn permits(&self, version: u64, now_ms: u64) -> bool {
        let part = self.part(version).lock();
        let retry_at = part.get(&version).map(|image| image.retry_at_ms);
        retry_at.is_none_or(|at| at.is_some_and(|at| at <= now_ms))
    }

    /// Adds or replaces the record of a version of a file.
    pub fn insert(&self, version: u64, image: UncopiedImage) {
        self.part(version).lock().insert(version, image, 1);
    }

    /// Removes the record of a version of a file, which has a copy now.
    pub fn remove(&self, version: u64) {
        self.part(version).lock().remove(&version);
    }

    /// Returns the latest record of a path, whatever the version of its file.
    pub fn of_path(&self, path_label: u64) -> Option<UncopiedImage> {
        let latest = |part: &Mutex<Lru<u64, UncopiedImage>>| {
            let part = part.lock();
            let of_path = part.values().filter(|image| image.path_label == path_label);
            of_path.max_by_key(|image| image.at_ms).cloned()
        };
        self.0.iter().filter_map(latest).max_by_key(|image| image.at_ms)
    }

    fn part(&self, version: u64) -> &Mutex<Lru<u64, UncopiedImage>> {
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
        let count = 2 * PARTS as u64 * MAX_RECORDS;
        (0..count).for_each(|version| images.insert(version, image(version, 0, None)));
        assert!(images.permits(0, 0) && !images.permits(count - 1, 0));
        assert_eq!(images.0.iter().map(|part| part.lock().len() as u64).sum::<u64>(), count / 2);
    }
}
