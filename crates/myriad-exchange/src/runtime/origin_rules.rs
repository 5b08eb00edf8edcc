//! Settings for requests to an origin and for its responses, independent of the protocol.

use myriad_conf::settings::{AcceleratorHeaders, NextUpstream};
use myriad_script::Template;
use myriad_upstream::Timeouts;

/// Response fields that are forwarded or interpreted.
pub struct AnswerRules {
    /// Fields not forwarded to the client, in lower case: `*_hide_header`, and fields that are meant only for this
    /// server.
    pub hide: Vec<Box<[u8]>>,
    /// `*_pass_header`: fields forwarded although they are hidden by default, in lower case. With `cache_rfc9111` and a
    /// cache, `date` is one of them.
    pub pass: Vec<Box<[u8]>>,
    /// True if [`AnswerRules::pass`] contains `Server` or `Date`.
    pub passes_head: bool,
    /// True if all interim responses (1xx) are forwarded to the client (`cache_rfc9111`). Otherwise `early_hints`
    /// decides.
    pub passes_interim: bool,
    /// `*_intercept_errors`: true if `error_page` replaces error responses of the origin.
    pub intercept_errors: bool,
    /// `*_force_ranges`: true if range requests are served even if the origin's response does not announce support for
    /// ranges.
    pub force_ranges: bool,
    /// `*_ignore_headers`: `X-Accel-*` fields of the origin's response that are not obeyed.
    pub ignore_accel: AcceleratorHeaders,
}

/// Buffering of a response that arrives faster than the client reads.
pub struct AheadRules {
    /// `*_buffering`: true if responses are buffered. `X-Accel-Buffering: yes` or `no` in a response takes precedence,
    /// unless it is ignored.
    pub on: bool,
    /// Maximum number of bytes buffered in memory: the sum of `*_buffer_size` and `*_buffers`.
    pub memory: u64,
    /// Maximum number of bytes buffered in a file (`*_max_temp_file_size`).
    pub file: u64,
    /// `*_limit_rate`: maximum rate at which a response is read from the origin, in bytes per second; `None` for a
    /// constant 0 (no limit).
    pub limit_rate: Option<Template>,
}

/// Timeouts, retries and local address of requests to an origin.
pub struct FetchRules {
    /// Timeouts of requests to the origin: `*_connect_timeout`, `*_send_timeout` and `*_read_timeout`.
    pub timeouts: Timeouts,
    /// Conditions under which a failed request is sent to the next origin: `*_next_upstream` and related directives.
    pub next: NextUpstream,
    /// `*_bind`: local address of connections to the origin; `None` for any address.
    pub bind: Option<Template>,
    /// Maximum size of a response head, in bytes: `*_buffer_size`, but at least 16 KB.
    pub head_bytes: usize,
    /// `*_ignore_client_abort`: the response is read to its end even if the client disconnects.
    pub to_the_end: bool,
}
