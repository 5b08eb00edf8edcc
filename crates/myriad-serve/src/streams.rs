//! The `stream` block, an optional part of the binary (Cargo feature `stream`).

#[cfg(not(feature = "stream"))]
mod absent;

#[cfg(not(feature = "stream"))]
pub(crate) use absent::{StreamReloadState, StreamRuntime, WorkerStreams, sessions};
#[cfg(feature = "stream")]
pub(crate) use myriad_origin::stream::{StreamReloadState, StreamRuntime, WorkerStreams, sessions};
