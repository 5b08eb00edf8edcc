//! Where the parts of a site stand in its configuration: for explanations, never read while serving.

use myriad_conf::Span;
use myriad_script::Template;

/// The names of what the runtime knows by number.
#[derive(Default)]
pub struct Atlas {
    /// By [`super::PlaceId`].
    pub places: Vec<Label>,
    /// By [`super::ServerId`]: the `server` word.
    pub servers: Vec<Span>,
    /// By the tags of the rewrite programs' steps.
    pub rules: Vec<Span>,
}

/// How a place is written.
#[derive(Default)]
pub struct Label {
    /// `location ~ \.php$`; empty for what is no location.
    pub name: Box<str>,
    /// Where that stands.
    pub span: Span,
    /// What is said of its origin; none for files.
    pub origin: Option<Box<OriginLabel>>,
}

/// How the origin of a place is written.
pub struct OriginLabel {
    /// `fastcgi_pass unix:/run/php.sock`.
    pub handler: String,
    /// `*_cache_bypass`: each text as written, and compiled.
    pub bypass: Vec<(String, Template)>,
    /// `*_no_cache`.
    pub no_cache: Vec<(String, Template)>,
}
