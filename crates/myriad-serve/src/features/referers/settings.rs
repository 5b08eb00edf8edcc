//! What the directives say.

use myriad_conf::{Span, Text};

/// `valid_referers` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RefererSettings {
    /// `none`: a request without `Referer` is valid.
    pub none: bool,
    /// `blocked`: so is one whose `Referer` is no URL, as firewalls leave it.
    pub blocked: bool,
    /// `server_names`: the names of the server.
    pub server_names: bool,
    /// Hosts, with a path or without, wildcards, and `~regex`.
    pub words: Vec<Text>,
    /// The directive.
    pub at: Span,
}

myriad_conf::feature_settings!(RefererSettings);
