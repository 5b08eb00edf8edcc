//! The built-in variables of nginx's HTTP modules: their names, and where each reads its value.

mod append;
mod borrow;
mod date;
mod names;
mod tls;

pub(crate) use append::append;
pub(crate) use borrow::{borrow, request_uri};
pub(crate) use date::write_date;
pub(crate) use names::VariableNames;
pub(crate) use tls::TlsMade;

use myriad_encode::Coding;
use myriad_http::Known;
use myriad_http::proxy_protocol::Tlv;

/// What a handshake came to, by the name of its variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TlsFact {
    /// `$ssl_protocol`.
    Protocol,
    /// `$ssl_cipher`.
    Cipher,
    /// `$ssl_curve`.
    Curve,
    /// `$ssl_server_name`.
    ServerName,
    /// `$ssl_session_reused`.
    SessionReused,
    /// `$ssl_alpn_protocol`.
    AlpnProtocol,
}

/// Where a variable reads its value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// `$args`, `$query_string`.
    Args,
    /// `$is_args`.
    IsArgs,
    /// `$device_class`.
    DeviceClass,
    /// `$uri`, `$document_uri`.
    Uri,
    /// `$request_uri`.
    RequestUri,
    /// `$request`.
    RequestLine,
    /// `$request_method`.
    Method,
    /// `$host`.
    Host,
    /// `$hostname`.
    Hostname,
    /// `$scheme`.
    Scheme,
    /// `$https`.
    Https,
    /// `$server_name`.
    ServerName,
    /// `$server_addr`.
    ServerAddr,
    /// `$server_port`.
    ServerPort,
    /// `$http3`: `h3`.
    Http3,
    /// `$http2`: `h2` over TLS, `h2c` without.
    Http2,
    /// `$server_protocol`.
    ServerProtocol,
    /// `$remote_addr`.
    RemoteAddr,
    /// `$remote_port`.
    RemotePort,
    /// `$binary_remote_addr`.
    BinaryRemoteAddr,
    /// `$remote_user`.
    RemoteUser,
    /// `$document_root`.
    DocumentRoot,
    /// `$realpath_root`.
    RealpathRoot,
    /// `$request_filename`.
    RequestFilename,
    /// `$request_body`: what was gathered in memory.
    RequestBody,
    /// `$request_body_file`: where it was gathered in a file.
    RequestBodyFile,
    /// `$request_completion`.
    RequestCompletion,
    /// `$request_id`.
    RequestId,
    /// `$request_length`.
    RequestLength,
    /// `$request_time`.
    RequestTime,
    /// `$bytes_sent`.
    BytesSent,
    /// `$body_bytes_sent`.
    BodyBytesSent,
    /// `$connection`.
    Connection,
    /// `$connection_requests`.
    ConnectionRequests,
    /// `$connection_time`.
    ConnectionTime,
    /// `$slice_range`.
    SliceRange,
    /// `$date_local`.
    DateLocal,
    /// `$date_gmt`.
    DateGmt,
    /// `$tcpinfo_rtt`, `$tcpinfo_rttvar`, `$tcpinfo_snd_cwnd`, `$tcpinfo_rcv_space`.
    TcpInfo(TcpFigure),
    /// `$request_port`: the port that `Host` names.
    RequestPort,
    /// `$is_request_port`: a colon where it names one.
    IsRequestPort,
    /// `$ssl_*` that lie ready.
    Tls(TlsFact),
    /// `$ssl_*` that are made.
    TlsMade(TlsMade),
    /// `$msec`.
    Msec,
    /// `$time_local`.
    TimeLocal,
    /// `$time_iso8601`.
    TimeIso8601,
    /// `$status`.
    Status,
    /// `$pipe`.
    Pipe,
    /// `$pid`.
    Pid,
    /// `$limit_rate`.
    LimitRate,
    /// `$nginx_version`.
    NginxVersion,
    /// `$gzip_ratio`, `$brotli_ratio`, `$zstd_ratio`.
    Ratio(Coding),
    /// `$content_length`: of a chunked body too, once it was gathered.
    ContentLength,
    /// `$content_type` and any `$http_*` of a well-known field.
    Field(Known),
    /// Any other `$http_*`: the field's name.
    OtherField(Box<str>),
    /// `$arg_*`.
    Arg(Box<[u8]>),
    /// `$cookie_*`.
    Cookie(Box<[u8]>),
    /// `$sent_http_*`.
    SentField(Box<str>),
    /// `$sent_trailer_*`.
    SentTrailer(Box<str>),
    /// `$upstream_http_*`.
    OriginField(Box<str>),
    /// `$upstream_trailer_*`.
    OriginTrailer(Box<str>),
    /// `$upstream_cookie_*`.
    OriginCookie(Box<[u8]>),
    /// `$upstream_addr`.
    OriginAddr,
    /// `$upstream_status`.
    OriginStatus,
    /// `$upstream_response_time`.
    OriginResponseTime,
    /// `$upstream_connect_time`.
    OriginConnectTime,
    /// `$upstream_header_time`.
    OriginHeaderTime,
    /// `$upstream_response_length`.
    OriginResponseLength,
    /// `$upstream_bytes_sent`.
    OriginBytesSent,
    /// `$upstream_bytes_received`.
    OriginBytesReceived,
    /// `$upstream_cache_status`.
    CacheStatus,
    /// `$upstream_cache_key`.
    CacheKey,
    /// `$upstream_cache_age`.
    CacheAge,
    /// `$upstream_cache_last_modified`.
    CacheLastModified,
    /// `$upstream_cache_etag`.
    CacheEtag,
    /// `$fastcgi_script_name`.
    FastCgiScriptName,
    /// `$fastcgi_path_info`.
    FastCgiPathInfo,
    /// `$proxy_host`.
    ProxyHost,
    /// `$proxy_port`.
    ProxyPort,
    /// The URI that the origin is asked for: of the default key, without a name that a configuration can read.
    ProxyUri,
    /// The scheme that the origin is asked by, of the default key too.
    ProxyScheme,
    /// `$realip_remote_addr`.
    PeerAddr,
    /// `$realip_remote_port`.
    PeerPort,
    /// `$proxy_protocol_addr`.
    ProxiedAddr,
    /// `$proxy_protocol_port`.
    ProxiedPort,
    /// `$proxy_protocol_server_addr`.
    ProxiedServerAddr,
    /// `$proxy_protocol_server_port`.
    ProxiedServerPort,
    /// `$proxy_protocol_tlv_*`; none for a name that stands for no fact, as in nginx.
    ProxiedFact(Option<Tlv>),
    /// `$invalid_referer`.
    InvalidReferer,
    /// `$connections_active`.
    ConnectionsActive,
    /// `$connections_reading`.
    ConnectionsReading,
    /// `$connections_writing`.
    ConnectionsWriting,
    /// `$connections_waiting`.
    ConnectionsWaiting,
    /// `$limit_req_status`.
    LimitReqStatus,
    /// `$limit_conn_status`.
    LimitConnStatus,
    /// `$proxy_add_x_forwarded_for`.
    ProxyAddForwardedFor,
}

/// A figure that the kernel knows of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TcpFigure {
    /// Round trip, microseconds.
    Rtt,
    /// Its variation, microseconds.
    RttVariation,
    /// Congestion window, segments.
    CongestionWindow,
    /// Receive window, bytes.
    ReceiveSpace,
}

/// Reads a size as nginx writes it (`10k`, `1m`); none where it is no size.
pub(crate) fn parse_size(text: &[u8]) -> Option<u64> {
    let (digits, unit) = match text.split_last()? {
        (b'k' | b'K', digits) => (digits, 1 << 10),
        (b'm' | b'M', digits) => (digits, 1 << 20),
        (b'g' | b'G', digits) => (digits, 1 << 30),
        _ => (text, 1),
    };
    std::str::from_utf8(digits).ok()?.parse::<u64>().ok()?.checked_mul(unit)
}
