//! What must outlive the worker process: handed to whoever started it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Takes what is to be kept. Nothing is said of whether it was: whoever keeps it logs what goes wrong.
pub trait Keep: fmt::Debug + Send + Sync {
    /// A file, whole, to be kept over restarts.
    fn file(&self, path: &Path, bytes: &[u8]);

    /// The folder of a cache zone, which somebody has removed, is to be made anew.
    fn folder(&self, path: &Path);

    /// Keys of tickets for the next process: the life time of what they seal, seconds, and a record of them; none where nothing
    /// is sealed for that life time any more.
    fn ticket_keys(&self, lifetime_s: u32, record: Option<&[u8]>);
}

/// Who keeps it.
pub type Keeper = Arc<dyn Keep>;

#[cfg(test)]
pub(crate) mod tests {
    use parking_lot::Mutex;

    use super::*;

    /// Remembers the keys of tickets that it is handed.
    #[derive(Debug, Default)]
    pub(crate) struct Told(pub(crate) Mutex<Vec<(u32, Option<Vec<u8>>)>>);

    impl Keep for Told {
        fn file(&self, _: &Path, _: &[u8]) {}

        fn folder(&self, _: &Path) {}

        fn ticket_keys(&self, lifetime_s: u32, record: Option<&[u8]>) {
            self.0.lock().push((lifetime_s, record.map(<[u8]>::to_vec)));
        }
    }
}
