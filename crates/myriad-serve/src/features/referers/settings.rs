//! Settings of the directives.

use myriad_conf::{Span, Text};

/// `valid_referers` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RefererSettings {
    /// `none`: a request without `Referer` is valid.
    pub none: bool,
    /// `blocked`: a request whose `Referer` is not a URL, because a firewall changed it, is valid.
    pub blocked: bool,
    /// `server_names`: names of the server.
    pub server_names: bool,
    /// Hosts with or without a path, wildcards, and `~regex`.
    pub words: Vec<Text>,
    /// Position of the directive.
    pub at: Span,
}

myriad_conf::feature_settings!(RefererSettings);
