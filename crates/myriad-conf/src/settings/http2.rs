//! Settings of `http2` and `http2_*`.

/// HTTP/2 settings. Sizes are in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Http2Settings {
    /// `http2`: true if HTTP/2 is enabled.
    pub on: bool,
    /// `http2_max_concurrent_streams`: maximum number of concurrent requests per connection, at least 1.
    pub max_streams: u32,
    /// `http2_body_preread_size`: maximum number of bytes of a request body that a client may send before the body is
    /// read; at most 2³¹-1.
    pub preread: u32,
    /// `http2_recv_buffer_size`: size of a worker's input buffer, in bytes; raised to two maximum frames (32,786 bytes)
    /// if smaller, and reduced to 16 MB if larger.
    pub receive_buffer: u64,
    /// `http2_chunk_size`: maximum size of the data in a DATA frame to the client, in bytes, from 1 to 2²⁴-1.
    pub chunk: u32,
}
