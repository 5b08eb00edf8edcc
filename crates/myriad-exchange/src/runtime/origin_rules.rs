//! Settings for requests to an origin and its responses, by step.

use myriad_conf::settings::{AcceleratorHeaders, NextUpstream};
use myriad_script::Template;
use myriad_upstream::Timeouts;

/// Response fields that are forwarded or interpreted.
pub struct AnswerRules {
    /// `*_hide_header`: fields not forwarded to the client, in lower case.
    pub hide: Vec<Box<[u8]>>,
    /// `*_pass_header`: fields forwarded although hidden by default, in lower case.
    pub pass: Vec<Box<[u8]>>,
    /// True if [`AnswerRules::pass`] contains `Server` or `Date`.
    pub passes_head: bool,
    /// True if interim responses are forwarded to the client.
    pub passes_interim: bool,
    /// `*_intercept_errors`.
    pub intercept_errors: bool,
    /// `*_force_ranges`.
    pub force_ranges: bool,
    /// `*_ignore_headers`: `X-Accel-*` fields that are not interpreted.
    pub ignore_accel: AcceleratorHeaders,
}

/// Buffering of a response ahead of the client.
pub struct AheadRules {
    /// `*_buffering`.
    pub on: bool,
    /// Maximum size of the buffer in memory, in bytes (`*_buffers`).
    pub memory: u64,
    /// Maximum size of the buffer in a file, in bytes (`*_max_temp_file_size`).
    pub file: u64,
    /// `*_limit_rate`, unless it is a constant 0.
    pub limit_rate: Option<Template>,
}

/// Timeouts, retries and local address of requests to an origin.
pub struct FetchRules {
    /// `*_connect_timeout` and the other timeouts.
    pub timeouts: Timeouts,
    /// `*_next_upstream` and related directives.
    pub next: NextUpstream,
    /// `*_bind`.
    pub bind: Option<Template>,
    /// `*_buffer_size`: maximum size of a response head, in bytes.
    pub head_bytes: usize,
    /// `*_ignore_client_abort`: true if a response is read completely even if the client has disconnected.
    pub to_the_end: bool,
}
