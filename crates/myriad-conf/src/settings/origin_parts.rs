//! Parts of the origin settings, one for each step: request, connection, response, buffering.

use myriad_policy::IgnoreHeaders;

use crate::text::Text;

/// `fastcgi_param` (or similar) or `proxy_set_header` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name of the parameter or field.
    pub name: Text,
    /// Value; an empty header field is not sent.
    pub value: Text,
    /// `fastcgi_param … if_not_empty`.
    pub if_not_empty: bool,
}

/// Parts of a request that are sent to an origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginRequestSettings {
    /// `fastcgi_param` and similar, or `proxy_set_header`.
    pub parameters: Vec<Parameter>,
    /// `*_pass_request_headers`.
    pub pass_fields: bool,
    /// `*_pass_request_body`.
    pub pass_body: bool,
    /// `*_request_buffering`.
    pub buffering: bool,
}

/// Connection settings and timeouts. Times are in ms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginConnectionSettings {
    /// `*_connect_timeout`.
    pub connect_timeout: u64,
    /// `*_send_timeout`, between two writes.
    pub send_timeout: u64,
    /// `*_read_timeout`, between two reads.
    pub read_timeout: u64,
    /// `*_bind`, may contain variables; `None` for `off`.
    pub bind: Option<Text>,
    /// `*_socket_keepalive`.
    pub keepalive: bool,
    /// `*_ignore_client_abort`: a response is read completely even after the client has disconnected.
    pub to_the_end: bool,
}

/// `*_ignore_headers`: `X-Accel-*` fields that are forwarded, but not obeyed. Fields about caching are not included.
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

/// Response fields that are obeyed, and fields that are sent to the client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginAnswerSettings {
    /// `*_hide_header`.
    pub hide: Vec<Text>,
    /// `*_pass_header`.
    pub pass: Vec<Text>,
    /// `*_ignore_headers`, fields about caching.
    pub ignore: IgnoreHeaders,
    /// `*_ignore_headers`, other fields.
    pub ignore_accel: AcceleratorHeaders,
    /// `*_intercept_errors`.
    pub intercept_errors: bool,
    /// `*_force_ranges`.
    pub force_ranges: bool,
}

/// Number and size of buffers, such as `fastcgi_buffers 8 4k`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    /// Number of buffers.
    pub count: u32,
    /// Size of each buffer, in bytes.
    pub size: u64,
}

/// Amount of response data that is read ahead of the client. Sizes are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginBufferingSettings {
    /// `*_buffering`.
    pub on: bool,
    /// `*_buffer_size`: buffer for the response head.
    pub head_size: u64,
    /// `*_buffers`.
    pub buffers: Buffers,
    /// `*_busy_buffers_size`; `None` if not set.
    pub busy_size: Option<u64>,
    /// `*_max_temp_file_size`; 0 disables temporary files.
    pub max_file_size: u64,
    /// `*_temp_file_write_size`; `None` if not set.
    pub file_write_size: Option<u64>,
    /// `*_limit_rate`, in bytes per second, may contain variables; `0` means no limit.
    pub limit_rate: Text,
}
