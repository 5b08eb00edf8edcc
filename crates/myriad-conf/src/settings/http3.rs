//! `http3*`, `quic_*`: how a server speaks HTTP/3.

use crate::text::Text;

/// `http3*` and `quic_*` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Http3Settings {
    /// `http3`: whether it is spoken where a `listen` says `quic`.
    pub enabled: bool,
    /// `http3_max_concurrent_streams`: requests of one connection at once, at least 1.
    pub max_concurrent_streams: u32,
    /// `http3_stream_buffer_size`: bytes of a request's body that are taken before somebody reads it.
    pub stream_buffer_size: u64,
    /// `quic_retry`: whether a client must first show that it can be reached at its address.
    pub retry: bool,
    /// `quic_gso`: whether the kernel cuts what is sent into datagrams.
    pub gso: bool,
    /// `quic_host_key`: the file with the secret that resets and connection IDs are made with.
    pub host_key: Option<Text>,
}
