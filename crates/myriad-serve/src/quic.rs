//! HTTP/3 of the site, an optional part of the binary (Cargo feature `http3`).

#[cfg(not(feature = "http3"))]
mod absent;
#[cfg(feature = "http3")]
mod compiled;

#[cfg(not(feature = "http3"))]
pub(crate) use absent::{Quic, settings, shake_hands_for};
#[cfg(feature = "http3")]
pub(crate) use compiled::{Quic, settings, shake_hands_for};
