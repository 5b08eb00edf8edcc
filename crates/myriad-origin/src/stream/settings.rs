//! Settings of the directives of `stream`.

use myriad_conf::Text;
use myriad_conf::settings::Network;

/// Settings of one configuration level (`stream` or `server`). Times are in milliseconds, sizes in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamSettings {
    /// `proxy_pass`: address or group that connections are forwarded to; `None` without it.
    pub pass: Option<Text>,
    /// `pass`: listening socket that connections are passed to; `None` without it.
    pub pass_to: Option<Text>,
    /// `return`: text that is sent to the client; `None` without it.
    pub answer: Option<Text>,
    /// `set` directives in order: variable and value.
    pub assignments: Vec<(Text, Text)>,
    /// `proxy_connect_timeout`: maximum time for connecting to a peer.
    pub connect_timeout: u64,
    /// `proxy_timeout`: maximum time without data in either direction.
    pub timeout: u64,
    /// `proxy_next_upstream`: tries another peer if a connection fails.
    pub next_upstream: bool,
    /// `proxy_next_upstream_tries`: maximum number of peers that are tried; 0 for no limit.
    pub next_upstream_tries: u32,
    /// `proxy_next_upstream_timeout`: maximum time for trying further peers; 0 for no limit.
    pub next_upstream_timeout: u64,
    /// `proxy_buffer_size`: size of the buffer of each direction; only for TCP.
    pub buffer_size: u64,
    /// `proxy_bind`: local address of connections to peers; `None` for any.
    pub bind: Option<Text>,
    /// `proxy_protocol`: sends a PROXY protocol header to the peer; only over TCP.
    pub sends_proxy_header: bool,
    /// `proxy_ssl`: uses TLS for connections to peers.
    pub uses_tls: bool,
    /// `proxy_ssl_alpn`: protocols offered to peers.
    pub peer_alpn: Vec<Text>,
    /// `proxy_socket_keepalive`: enables TCP keepalive on connections to peers.
    pub socket_keepalive: bool,
    /// `proxy_half_close`: one direction may continue after the opposite direction was closed.
    pub half_close: bool,
    /// `proxy_upload_rate` in bytes per second; may contain variables.
    pub upload_rate: Text,
    /// `proxy_download_rate` in bytes per second; may contain variables.
    pub download_rate: Text,
    /// `proxy_requests`: number of client datagrams after which the next datagram starts a new session; 0 for no limit.
    pub requests: u64,
    /// `proxy_responses`: expected number of peer datagrams per client datagram; `None` for any number.
    pub responses: Option<u64>,
    /// `tcp_nodelay`: sends small packets to the client immediately.
    pub tcp_nodelay: bool,
    /// `proxy_protocol_timeout`: maximum time for reading a PROXY protocol header.
    pub header_timeout: u64,
    /// `preread_buffer_size`: maximum number of bytes of the TLS client hello that `ssl_preread` reads; no effect
    /// without `ssl_preread`.
    pub preread_buffer_size: u64,
    /// `preread_timeout`: maximum time for reading the TLS client hello by `ssl_preread`; no effect without
    /// `ssl_preread`.
    pub preread_timeout: u64,
    /// `ssl_preread`: reads the TLS client hello before the connection is handled; no effect on a connection whose TLS
    /// is terminated here.
    pub ssl_preread: bool,
    /// `ssl_alpn`: ALPN protocols that the server supports.
    pub alpn: Vec<Text>,
    /// `ssl_handshake_timeout`: maximum time for a TLS handshake with a client.
    pub handshake_timeout: u64,
    /// `set_real_ip_from`: addresses of proxies whose PROXY protocol header is trusted.
    pub trusted: Vec<Network>,
}

// `set` and the directives that handle the connections of a server are not inherited.
myriad_conf::feature_settings!(StreamSettings, |around| Some(StreamSettings {
    pass: None,
    pass_to: None,
    answer: None,
    assignments: Vec::new(),
    ..around.clone()
}));
