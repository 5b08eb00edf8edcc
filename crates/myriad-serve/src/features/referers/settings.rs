//! Settings of `valid_referers`.

use myriad_conf::{Span, Text};

/// `valid_referers` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RefererSettings {
    /// `none`: true if a request without `Referer` is valid.
    pub none: bool,
    /// `blocked`: true if a request is valid whose `Referer` has no `http://` or `https://` (for example because a
    /// firewall removed it), or is shorter than 11 bytes.
    pub blocked: bool,
    /// `server_names`: true if the names of the server are valid.
    pub server_names: bool,
    /// Other parameters: hosts with or without a path, wildcards, and `~regex`.
    pub words: Vec<Text>,
    /// Position of the directive in the configuration.
    pub at: Span,
}

myriad_conf::feature_settings!(RefererSettings);
