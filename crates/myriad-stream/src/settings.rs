//! Values of the directives.

use myriad_conf::Text;
use myriad_conf::settings::Network;

/// Directives of a level of `stream`. Times in ms, sizes in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamSettings {
    /// `proxy_pass` of a server.
    pub pass: Option<Text>,
    /// `pass` of a server.
    pub pass_to: Option<Text>,
    /// `return` of a server.
    pub answer: Option<Text>,
    /// `set` of a server, in their order: variable and value.
    pub assignments: Vec<(Text, Text)>,
    /// `proxy_connect_timeout`.
    pub connect_timeout: u64,
    /// `proxy_timeout`: maximum silence on both sides.
    pub timeout: u64,
    /// `proxy_next_upstream`.
    pub next_upstream: bool,
    /// `proxy_next_upstream_tries`; 0 for all.
    pub next_upstream_tries: u32,
    /// `proxy_next_upstream_timeout`; 0 for none.
    pub next_upstream_timeout: u64,
    /// `proxy_buffer_size`, for each direction.
    pub buffer_size: u64,
    /// `proxy_bind`; none for any address.
    pub bind: Option<Text>,
    /// `proxy_protocol`: sends the client's address to the peer.
    pub sends_proxy_header: bool,
    /// `proxy_ssl`: uses TLS with peers.
    pub uses_tls: bool,
    /// `proxy_ssl_alpn`.
    pub peer_alpn: Vec<Text>,
    /// `proxy_socket_keepalive`.
    pub socket_keepalive: bool,
    /// `proxy_half_close`.
    pub half_close: bool,
    /// `proxy_upload_rate`, bytes per second; may contain variables.
    pub upload_rate: Text,
    /// `proxy_download_rate`, bytes per second; may contain variables.
    pub download_rate: Text,
    /// `proxy_requests`: number of datagrams of a client after which its next datagram starts a new session; 0 for no
    /// limit.
    pub requests: u64,
    /// `proxy_responses`: number of datagrams of the peer for each of a client; `None` for no limit.
    pub responses: Option<u64>,
    /// `tcp_nodelay`.
    pub tcp_nodelay: bool,
    /// `proxy_protocol_timeout`.
    pub header_timeout: u64,
    /// `preread_buffer_size`.
    pub preread_buffer_size: u64,
    /// `preread_timeout`.
    pub preread_timeout: u64,
    /// `ssl_preread`.
    pub ssl_preread: bool,
    /// `ssl_alpn`.
    pub alpn: Vec<Text>,
    /// `ssl_handshake_timeout`.
    pub handshake_timeout: u64,
    /// `set_real_ip_from`: trusted proxies.
    pub trusted: Vec<Network>,
}

// The content of a server is not inherited.
myriad_conf::feature_settings!(StreamSettings, |around| Some(StreamSettings {
    pass: None,
    pass_to: None,
    answer: None,
    assignments: Vec::new(),
    ..around.clone()
}));
