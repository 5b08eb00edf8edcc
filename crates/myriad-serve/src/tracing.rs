//! Request tracing, an optional part of the binary (Cargo feature `otel`).

#[cfg(feature = "otel")]
pub(crate) use myriad_admin::telemetry::{finish, injects};

#[cfg(not(feature = "otel"))]
pub(crate) use absent::{finish, injects};

#[cfg(not(feature = "otel"))]
mod absent {
    use std::time::Duration;

    use myriad_conf::settings::Settings;

    /// Does nothing: this build has no tracing, so there are no spans to send.
    pub(crate) fn finish(_patience: Duration) {}

    /// Returns false: this build has no tracing, so origins receive no trace context.
    pub(crate) fn injects(_settings: &Settings) -> bool {
        false
    }
}
