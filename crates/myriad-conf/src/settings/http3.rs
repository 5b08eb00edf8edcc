//! Settings of `http3*` and `quic_*`.

use crate::text::Text;

/// HTTP/3 and QUIC settings of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Http3Settings {
    /// `http3`: true if HTTP/3 is enabled on each `listen` with `quic`.
    pub enabled: bool,
    /// `http3_max_concurrent_streams`: maximum number of concurrent requests per connection, at least 1.
    pub max_concurrent_streams: u32,
    /// `http3_stream_buffer_size`: maximum size of a request body that is buffered before it is read, in bytes.
    pub stream_buffer_size: u64,
    /// `quic_retry`: true if a client must validate its address first.
    pub retry: bool,
    /// `quic_gso`: true if the kernel splits sent data into datagrams (segmentation offload).
    pub gso: bool,
    /// `quic_host_key`: file with the secret for stateless resets and connection IDs; `None` to generate one.
    pub host_key: Option<Text>,
}
