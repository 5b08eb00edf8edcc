//! When an origin's answer came.

/// When a head came.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    /// The time, ms since the epoch.
    pub now: u64,
    /// How long it took, ms.
    pub delay_ms: u64,
}
