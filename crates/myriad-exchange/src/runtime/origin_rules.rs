//! How an origin is asked and its answer is taken: a part for each step.

use myriad_conf::settings::{AcceleratorHeaders, NextUpstream};
use myriad_script::Template;
use myriad_upstream::Timeouts;

/// What of an answer goes to the visitor, and which of its fields are obeyed.
pub struct AnswerRules {
    /// `*_hide_header`: fields not passed to the client, lower case.
    pub hide: Vec<Box<[u8]>>,
    /// `*_pass_header`: fields passed although hidden by default, lower case.
    pub pass: Vec<Box<[u8]>>,
    /// Whether `Server` or `Date` are among [`AnswerRules::pass`].
    pub passes_head: bool,
    /// Whether interim responses go to the visitor.
    pub passes_interim: bool,
    /// `*_intercept_errors`.
    pub intercept_errors: bool,
    /// `*_force_ranges`.
    pub force_ranges: bool,
    /// `*_ignore_headers`: which `X-Accel-*` fields are not obeyed.
    pub ignore_accel: AcceleratorHeaders,
}

/// How far ahead of the visitor an answer is read.
pub struct AheadRules {
    /// `*_buffering`.
    pub on: bool,
    /// How much of an answer is read ahead in memory, bytes (`*_buffers`).
    pub memory: u64,
    /// How much of it in a file, bytes (`*_max_temp_file_size`).
    pub file: u64,
    /// `*_limit_rate`, unless it is a plain 0.
    pub limit_rate: Option<Template>,
}

/// How long, how often and from where an origin is asked.
pub struct FetchRules {
    /// `*_connect_timeout` and its like.
    pub timeouts: Timeouts,
    /// `*_next_upstream` and its like.
    pub next: NextUpstream,
    /// `*_bind`.
    pub bind: Option<Template>,
    /// `*_buffer_size`: most bytes of an answer's head.
    pub head_bytes: usize,
    /// `*_ignore_client_abort`: whether an answer is read to its end though the client has gone.
    pub to_the_end: bool,
}
