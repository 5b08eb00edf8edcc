//! When a configuration was loaded.

/// When a configuration was loaded, and how many were before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Counts the configurations that ran in this worker process, from 1.
    pub generation: u64,
    /// When this one was compiled, milliseconds since the epoch.
    pub at_ms: u64,
}
