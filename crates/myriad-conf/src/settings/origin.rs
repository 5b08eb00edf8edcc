//! The upstream family: what `fastcgi_*` and `proxy_*` say alike, held once.

use super::{CacheSettings, OriginTlsSettings, Protocol};
use crate::text::Text;

/// A count and a size, as in `fastcgi_buffers 8 4k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// How many.
    pub count: u32,
    /// Bytes of each.
    pub size: u64,
}

/// One `fastcgi_param` or `proxy_set_header`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The parameter's or field's name.
    pub name: Text,
    /// The value; an empty header is not sent.
    pub value: Text,
    /// `fastcgi_param … if_not_empty`.
    pub if_not_empty: bool,
}

/// `proxy_redirect`; the first that matches rewrites `Location` and `Refresh`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redirect {
    /// Made from `proxy_pass` and the location's prefix.
    Default,
    /// A prefix and what replaces it.
    Prefix {
        /// The prefix; may hold variables.
        from: Text,
        /// The replacement; may hold variables.
        to: Text,
    },
    /// A regex and what replaces the match.
    Regex {
        /// The pattern without its `~`.
        pattern: Text,
        /// `~*`.
        caseless: bool,
        /// The replacement; may hold captures and variables.
        to: Text,
    },
}

/// One `proxy_cookie_flags`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CookieFlags {
    /// The cookie's name, which may hold variables, or `~` and a regex.
    pub cookie: Text,
    /// `secure`, `nosecure`, `httponly`, `nohttponly`, `samesite=…`, `nosamesite`; may hold variables.
    pub flags: Vec<Text>,
}

/// `proxy_http_version`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersion {
    /// `1.0`.
    Http10,
    /// `1.1`.
    Http11,
}

/// `*_next_upstream`: when the next server of a group is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextUpstream {
    /// `error`.
    pub error: bool,
    /// `timeout`.
    pub timeout: bool,
    /// `denied`.
    pub denied: bool,
    /// `invalid_header`.
    pub invalid_header: bool,
    /// `non_idempotent`: also for POST, LOCK, PATCH.
    pub non_idempotent: bool,
    /// `http_500`.
    pub http_500: bool,
    /// `http_502` (HTTP only).
    pub http_502: bool,
    /// `http_503`.
    pub http_503: bool,
    /// `http_504` (HTTP only).
    pub http_504: bool,
    /// `http_403`.
    pub http_403: bool,
    /// `http_404`.
    pub http_404: bool,
    /// `http_429`.
    pub http_429: bool,
    /// `off`: no other server is ever asked.
    pub off: bool,
}

impl NextUpstream {
    pub(crate) const OFF: Self = Self {
        error: false,
        timeout: false,
        denied: false,
        invalid_header: false,
        non_idempotent: false,
        http_500: false,
        http_502: false,
        http_503: false,
        http_504: false,
        http_403: false,
        http_404: false,
        http_429: false,
        off: true,
    };
}

impl Default for NextUpstream {
    fn default() -> Self {
        Self { error: true, timeout: true, off: false, ..Self::OFF }
    }
}

/// `X-Accel-*` fields among [`IgnoreHeaders`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceleratorHeaders {
    /// `X-Accel-Redirect`.
    pub redirect: bool,
    /// `X-Accel-Expires`.
    pub expires: bool,
    /// `X-Accel-Limit-Rate`.
    pub limit_rate: bool,
    /// `X-Accel-Buffering`.
    pub buffering: bool,
    /// `X-Accel-Charset`.
    pub charset: bool,
}

/// `*_ignore_headers`: fields of the origin that are passed on but not obeyed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IgnoreHeaders {
    /// `X-Accel-*`.
    pub accel: AcceleratorHeaders,
    /// `Expires`.
    pub expires: bool,
    /// `Cache-Control`.
    pub cache_control: bool,
    /// `Set-Cookie`.
    pub set_cookie: bool,
    /// `Vary`.
    pub vary: bool,
}

/// How an origin is asked and its answer taken. Times in ms, sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginSettings {
    /// Which member of the family this is.
    pub protocol: Protocol,
    /// `fastcgi_param` or `proxy_set_header`.
    pub parameters: Vec<Parameter>,
    /// `*_hide_header`.
    pub hide_headers: Vec<Text>,
    /// `*_pass_header`.
    pub pass_headers: Vec<Text>,
    /// `*_ignore_headers`.
    pub ignore_headers: IgnoreHeaders,
    /// `*_pass_request_headers`.
    pub pass_request_headers: bool,
    /// `*_pass_request_body`.
    pub pass_request_body: bool,
    /// `*_connect_timeout`.
    pub connect_timeout: u64,
    /// `*_send_timeout`, between two writes.
    pub send_timeout: u64,
    /// `*_read_timeout`, between two reads.
    pub read_timeout: u64,
    /// `*_buffering`.
    pub buffering: bool,
    /// `*_request_buffering`.
    pub request_buffering: bool,
    /// `*_buffer_size`: room for the head.
    pub buffer_size: u64,
    /// `*_buffers`.
    pub buffers: Buffers,
    /// `*_busy_buffers_size`; `None` where not written.
    pub busy_buffers_size: Option<u64>,
    /// `*_max_temp_file_size`; 0 keeps answers off the disk.
    pub max_temp_file_size: u64,
    /// `*_temp_file_write_size`; `None` where not written.
    pub temp_file_write_size: Option<u64>,
    /// `*_limit_rate`, bytes per second, may hold variables; `0` means no limit.
    pub limit_rate: Text,
    /// `*_ignore_client_abort`.
    pub ignore_client_abort: bool,
    /// `*_intercept_errors`.
    pub intercept_errors: bool,
    /// `*_next_upstream`.
    pub next_upstream: NextUpstream,
    /// `*_next_upstream_tries`; 0 means no limit.
    pub next_upstream_tries: u64,
    /// `*_next_upstream_timeout`; 0 means no limit.
    pub next_upstream_timeout: u64,
    /// `*_bind`, may hold variables; `None` for `off`.
    pub bind: Option<Text>,
    /// `*_socket_keepalive`.
    pub socket_keepalive: bool,
    /// `*_force_ranges`.
    pub force_ranges: bool,
    /// `*_cache*`.
    pub cache: CacheSettings,
    /// `fastcgi_keep_conn`.
    pub keep_conn: bool,
    /// `fastcgi_index`.
    pub index: Option<Text>,
    /// `fastcgi_split_path_info`: a regex with two captures.
    pub split_path_info: Option<Text>,
    /// `fastcgi_catch_stderr`: words that turn an answer into an error.
    pub catch_stderr: Vec<Text>,
    /// `proxy_http_version`.
    pub http_version: HttpVersion,
    /// `proxy_redirect`; empty for `off`.
    pub redirects: Vec<Redirect>,
    /// `proxy_cookie_domain`; empty for `off`.
    pub cookie_domains: Vec<Redirect>,
    /// `proxy_cookie_path`; empty for `off`.
    pub cookie_paths: Vec<Redirect>,
    /// `proxy_cookie_flags`; empty for `off`.
    pub cookie_flags: Vec<CookieFlags>,
    /// `proxy_pass_trailers`.
    pub pass_trailers: bool,
    /// `proxy_method`.
    pub method: Option<Text>,
    /// `proxy_set_body`.
    pub body: Option<Text>,
    /// `proxy_ssl_*`.
    pub tls: OriginTlsSettings,
}

impl OriginSettings {
    /// nginx's defaults for a protocol.
    pub fn new(protocol: Protocol) -> Self {
        Self {
            protocol,
            parameters: Vec::new(),
            hide_headers: Vec::new(),
            pass_headers: Vec::new(),
            ignore_headers: IgnoreHeaders::default(),
            pass_request_headers: true,
            pass_request_body: true,
            connect_timeout: 60_000,
            send_timeout: 60_000,
            read_timeout: 60_000,
            buffering: true,
            request_buffering: true,
            buffer_size: 4096,
            buffers: Buffers { count: 8, size: 4096 },
            busy_buffers_size: None,
            max_temp_file_size: 1 << 30,
            temp_file_write_size: None,
            limit_rate: Text::builtin("0"),
            ignore_client_abort: false,
            intercept_errors: false,
            next_upstream: NextUpstream::default(),
            next_upstream_tries: 0,
            next_upstream_timeout: 0,
            bind: None,
            socket_keepalive: false,
            force_ranges: false,
            cache: CacheSettings { key: default_key(protocol), ..CacheSettings::default() },
            keep_conn: false,
            index: None,
            split_path_info: None,
            catch_stderr: Vec::new(),
            http_version: HttpVersion::Http11,
            redirects: vec![Redirect::Default],
            cookie_domains: Vec::new(),
            cookie_paths: Vec::new(),
            cookie_flags: Vec::new(),
            pass_trailers: false,
            method: None,
            body: None,
            tls: OriginTlsSettings::default(),
        }
    }
}

/// nginx has a default key for HTTP origins only: documented as `$scheme$proxy_host$request_uri`, made of the URI that the
/// origin is asked for.
fn default_key(protocol: Protocol) -> Option<Text> {
    (protocol == Protocol::Http)
        .then(|| Text::builtin("$proxy_internal_scheme://$proxy_host$proxy_internal_uri"))
}
