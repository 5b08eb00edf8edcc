//! Number of a loaded configuration, and the time at which it was loaded.

/// Time at which a configuration was loaded, and its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadInfo {
    /// Number of the configuration in this worker process, from 1 on.
    pub generation: u64,
    /// Time at which the configuration was compiled, in milliseconds since the epoch.
    pub at_ms: u64,
}
