//! Parts of the origin settings: request, connection, response, buffering.

use myriad_policy::IgnoreHeaders;

use crate::text::Text;

/// Directive that sets a CGI parameter (`fastcgi_param` or similar) or a request field (`proxy_set_header`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name of the parameter or field.
    pub name: Text,
    /// Value, which may contain variables; a request field with an empty value is not sent.
    pub value: Text,
    /// `if_not_empty`: true if an empty parameter is not sent.
    pub if_not_empty: bool,
}

/// Parts of a request that are sent to an origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginRequestSettings {
    /// CGI parameters (`fastcgi_param` or similar), or request fields (`proxy_set_header`).
    pub parameters: Vec<Parameter>,
    /// `*_pass_request_headers`: true if the client's fields are sent.
    pub pass_fields: bool,
    /// `*_pass_request_body`: true if the client's body is sent.
    pub pass_body: bool,
    /// `*_request_buffering`: true if the whole body is received before it is sent.
    pub buffering: bool,
}

/// Settings for connections to origins. Times are in ms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginConnectionSettings {
    /// `*_connect_timeout`: maximum time to connect to an origin, in ms.
    pub connect_timeout: u64,
    /// `*_send_timeout`: maximum time between two writes to an origin, in ms.
    pub send_timeout: u64,
    /// `*_read_timeout`: maximum time between two reads from an origin, in ms.
    pub read_timeout: u64,
    /// `*_bind`: local address of connections to origins, may contain variables; `None` for `off`.
    pub bind: Option<Text>,
    /// `*_socket_keepalive`: value as written; without effect.
    pub keepalive: bool,
    /// `*_ignore_client_abort`: true if a response is read completely even after the client has disconnected.
    pub to_the_end: bool,
}

/// `X-Accel-*` response fields in `*_ignore_headers`, which are not obeyed. [`IgnoreHeaders`] has the fields about
/// caching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceleratorHeaders {
    /// True if `X-Accel-Redirect` is not obeyed.
    pub redirect: bool,
    /// True if `X-Accel-Limit-Rate` is not obeyed.
    pub limit_rate: bool,
    /// True if `X-Accel-Buffering` is not obeyed.
    pub buffering: bool,
    /// True if `X-Accel-Charset` is not obeyed.
    pub charset: bool,
}

/// Handling of the response fields of origins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginAnswerSettings {
    /// `*_hide_header`: fields that clients do not receive.
    pub hide: Vec<Text>,
    /// `*_pass_header`: fields that clients receive although they are hidden by default.
    pub pass: Vec<Text>,
    /// `*_ignore_headers`: fields about caching that are not obeyed.
    pub ignore: IgnoreHeaders,
    /// `*_ignore_headers`: other fields (`X-Accel-*`) that are not obeyed.
    pub ignore_accel: AcceleratorHeaders,
    /// `*_intercept_errors`: true if `error_page` replaces error responses of origins.
    pub intercept_errors: bool,
    /// `*_force_ranges`: true if ranges are supported even if the response has no `Accept-Ranges`.
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

/// Buffering of responses that are read ahead of the client. Sizes are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginBufferingSettings {
    /// `*_buffering`: true if responses are read ahead of the client.
    pub on: bool,
    /// `*_buffer_size`: size of the buffer for the response head, in bytes; values below 16 KB count as 16 KB.
    pub head_size: u64,
    /// `*_buffers`: number and size of buffers; with `*_buffer_size`, their total limits the response data in memory
    /// that is read ahead of the client.
    pub buffers: Buffers,
    /// `*_busy_buffers_size` in bytes, without effect; `None` if not set.
    pub busy_size: Option<u64>,
    /// `*_max_temp_file_size`: maximum size of a temporary file for response data, in bytes; 0 disables temporary
    /// files.
    pub max_file_size: u64,
    /// `*_temp_file_write_size` in bytes, without effect; `None` if not set.
    pub file_write_size: Option<u64>,
    /// `*_limit_rate`: maximum rate in bytes per second for reading a response ahead of the client or into the cache,
    /// may contain variables; `0` for no limit.
    pub limit_rate: Text,
}
