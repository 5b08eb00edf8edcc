//! The settings of origins that every protocol has: `fastcgi_*` and `proxy_*` say them alike, and so does each other prefix.

use myriad_policy::IgnoreHeaders;

use super::features::{FeatureSettings, Features};
use super::{CacheSettings, OriginTlsSettings, Protocol};
use crate::text::Text;

/// A count and a size, as in `fastcgi_buffers 8 4k`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    /// How many.
    pub count: u32,
    /// Bytes of each.
    pub size: u64,
}

/// One `fastcgi_param` (or its like) or `proxy_set_header`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The parameter's or field's name.
    pub name: Text,
    /// The value; an empty header is not sent.
    pub value: Text,
    /// `fastcgi_param … if_not_empty`.
    pub if_not_empty: bool,
}

/// `*_next_upstream`, `_tries`, `_timeout`: when the next server of a group is asked.
///
/// Connecting is always safe to repeat; a request that was sent is repeated where its method is idempotent, or
/// `non_idempotent` is set, and its body is in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextUpstream {
    /// `error`: no connection, or one that failed.
    pub error: bool,
    /// `timeout`: a step took too long.
    pub timeout: bool,
    /// `denied`: never happens, since no directive denies an address.
    pub denied: bool,
    /// `invalid_header`: the head of the answer was broken, empty or too large.
    pub invalid_header: bool,
    /// `http_500`.
    pub http_500: bool,
    /// `http_502` (HTTP only).
    pub http_502: bool,
    /// `http_503`.
    pub http_503: bool,
    /// `http_504` (HTTP only).
    pub http_504: bool,
    /// `http_403`; no failure of the server.
    pub http_403: bool,
    /// `http_404`; no failure of the server.
    pub http_404: bool,
    /// `http_429`.
    pub http_429: bool,
    /// `non_idempotent`: also for POST, LOCK, PATCH.
    pub non_idempotent: bool,
    /// `*_next_upstream_tries`: most tries; 0 for one of each server.
    pub tries: u32,
    /// `*_next_upstream_timeout`: no new try after so many milliseconds; 0 for no bound.
    pub timeout_ms: u64,
}

impl NextUpstream {
    /// `off`: no other server is ever asked.
    pub const OFF: Self = Self {
        error: false,
        timeout: false,
        denied: false,
        invalid_header: false,
        http_500: false,
        http_502: false,
        http_503: false,
        http_504: false,
        http_403: false,
        http_404: false,
        http_429: false,
        non_idempotent: false,
        tries: 0,
        timeout_ms: 0,
    };

    /// Whether an answer with this status is reason to ask another server.
    pub fn on_status(&self, status: u16) -> bool {
        match status {
            500 => self.http_500,
            502 => self.http_502,
            503 => self.http_503,
            504 => self.http_504,
            403 => self.http_403,
            404 => self.http_404,
            429 => self.http_429,
            _ => false,
        }
    }
}

/// `*_ignore_headers`: `X-Accel-*` fields that are passed on but not obeyed, but for what they say of caching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceleratorHeaders {
    /// `X-Accel-Redirect`.
    pub redirect: bool,
    /// `X-Accel-Limit-Rate`.
    pub limit_rate: bool,
    /// `X-Accel-Buffering`.
    pub buffering: bool,
    /// `X-Accel-Charset`.
    pub charset: bool,
}

/// How an origin is asked and its answer taken. Times in ms, sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginSettings {
    /// The protocol that the origins speak.
    pub protocol: Protocol,
    /// `fastcgi_param` or `proxy_set_header`.
    pub parameters: Vec<Parameter>,
    /// `*_hide_header`.
    pub hide_headers: Vec<Text>,
    /// `*_pass_header`.
    pub pass_headers: Vec<Text>,
    /// `*_ignore_headers`, as far as it concerns caching.
    pub ignore_headers: IgnoreHeaders,
    /// The rest of `*_ignore_headers`.
    pub ignore_accel: AcceleratorHeaders,
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
    /// `*_next_upstream*`.
    pub next_upstream: NextUpstream,
    /// `*_bind`, may hold variables; `None` for `off`.
    pub bind: Option<Text>,
    /// `*_socket_keepalive`.
    pub socket_keepalive: bool,
    /// `*_force_ranges`.
    pub force_ranges: bool,
    /// `*_cache*`.
    pub cache: CacheSettings,
    /// `proxy_ssl_*`.
    pub tls: OriginTlsSettings,
    /// What the protocol alone has.
    own: Features,
}

impl OriginSettings {
    /// Blank, but for what the protocol has no row for.
    pub(crate) fn new(protocol: Protocol) -> Self {
        Self {
            protocol,
            cache: CacheSettings {
                key: protocol.default_key().map(|key| Text::builtin(key.text)),
                convert_head: protocol.has_environment(),
                ..CacheSettings::default()
            },
            parameters: <_>::default(),
            hide_headers: <_>::default(),
            pass_headers: <_>::default(),
            ignore_headers: <_>::default(),
            ignore_accel: <_>::default(),
            pass_request_headers: <_>::default(),
            pass_request_body: <_>::default(),
            connect_timeout: <_>::default(),
            send_timeout: <_>::default(),
            read_timeout: <_>::default(),
            buffering: <_>::default(),
            request_buffering: <_>::default(),
            buffer_size: <_>::default(),
            buffers: <_>::default(),
            busy_buffers_size: <_>::default(),
            max_temp_file_size: <_>::default(),
            temp_file_write_size: <_>::default(),
            limit_rate: <_>::default(),
            ignore_client_abort: <_>::default(),
            intercept_errors: <_>::default(),
            next_upstream: <_>::default(),
            bind: <_>::default(),
            socket_keepalive: <_>::default(),
            force_ranges: <_>::default(),
            tls: <_>::default(),
            own: Features::default(),
        }
    }

    /// Settings that the protocol alone has: what is written here or around, else what holds where nothing is written.
    pub fn own<T: FeatureSettings>(&self) -> &T {
        self.own.get()
    }

    /// The same, to be changed for this level and those within.
    pub fn own_mut<T: FeatureSettings>(&mut self) -> &mut T {
        self.own.get_mut()
    }
}
