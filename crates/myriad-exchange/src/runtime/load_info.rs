//! Load time of a configuration.

/// Load time of a configuration, and its generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadInfo {
    /// Number of the configuration in this worker process, from 1.
    pub generation: u64,
    /// Time of compilation, in milliseconds since the epoch.
    pub at_ms: u64,
}
