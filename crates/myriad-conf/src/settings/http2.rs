//! `http2*`.

/// HTTP/2 settings. Sizes are in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Http2Settings {
    /// `http2`.
    pub on: bool,
    /// `http2_max_concurrent_streams`, at least 1.
    pub max_streams: u32,
    /// `http2_body_preread_size`, at most 2³¹-1.
    pub preread: u32,
    /// `http2_recv_buffer_size`.
    pub receive_buffer: u64,
    /// `http2_chunk_size`, from 1 to 2²⁴-1.
    pub chunk: u32,
}
