//! The settings of origins, a part for each step: what is sent, how it is sent, what of the answer is obeyed and passed on, how
//! much of it is read ahead.

use myriad_policy::IgnoreHeaders;

use crate::text::Text;

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

/// What an origin is sent of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginRequestSettings {
    /// `fastcgi_param` and its like, or `proxy_set_header`.
    pub parameters: Vec<Parameter>,
    /// `*_pass_request_headers`.
    pub pass_fields: bool,
    /// `*_pass_request_body`.
    pub pass_body: bool,
    /// `*_request_buffering`.
    pub buffering: bool,
}

/// How an origin is connected to and waited for. Times in ms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginConnectionSettings {
    /// `*_connect_timeout`.
    pub connect_timeout: u64,
    /// `*_send_timeout`, between two writes.
    pub send_timeout: u64,
    /// `*_read_timeout`, between two reads.
    pub read_timeout: u64,
    /// `*_bind`, may hold variables; `None` for `off`.
    pub bind: Option<Text>,
    /// `*_socket_keepalive`.
    pub keepalive: bool,
    /// `*_ignore_client_abort`: an answer is read to its end without a client.
    pub to_the_end: bool,
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

/// What of an answer is obeyed, and what goes to the client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginAnswerSettings {
    /// `*_hide_header`.
    pub hide: Vec<Text>,
    /// `*_pass_header`.
    pub pass: Vec<Text>,
    /// `*_ignore_headers`, as far as it concerns caching.
    pub ignore: IgnoreHeaders,
    /// The rest of `*_ignore_headers`.
    pub ignore_accel: AcceleratorHeaders,
    /// `*_intercept_errors`.
    pub intercept_errors: bool,
    /// `*_force_ranges`.
    pub force_ranges: bool,
}

/// A count and a size, as in `fastcgi_buffers 8 4k`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    /// How many.
    pub count: u32,
    /// Bytes of each.
    pub size: u64,
}

/// How much of an answer is read ahead of the client. Sizes in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginBufferingSettings {
    /// `*_buffering`.
    pub on: bool,
    /// `*_buffer_size`: room for the head.
    pub head_size: u64,
    /// `*_buffers`.
    pub buffers: Buffers,
    /// `*_busy_buffers_size`; `None` where not written.
    pub busy_size: Option<u64>,
    /// `*_max_temp_file_size`; 0 keeps answers off the disk.
    pub max_file_size: u64,
    /// `*_temp_file_write_size`; `None` where not written.
    pub file_write_size: Option<u64>,
    /// `*_limit_rate`, bytes per second, may hold variables; `0` means no limit.
    pub limit_rate: Text,
}
