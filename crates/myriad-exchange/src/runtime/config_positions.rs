//! Configuration positions of runtime objects. They are used for explanations only, never while serving.

use myriad_conf::Span;
use myriad_script::Template;

/// Positions of numbered runtime objects.
#[derive(Default)]
pub struct ConfigPositions {
    /// Places, by [`super::PlaceId`].
    pub places: Vec<PlaceLabel>,
    /// Positions of the word `server`, by [`super::ServerId`].
    pub servers: Vec<Span>,
    /// Positions of rules, by the tags of the rewrite programs' steps.
    pub rules: Vec<Span>,
}

/// Notation of a place in the configuration.
#[derive(Default)]
pub struct PlaceLabel {
    /// Notation such as `location ~ \.php$`; empty if the place is not a location.
    pub name: Box<str>,
    /// Position of the location.
    pub span: Span,
    /// Notation of its origin; `None` for files.
    pub origin: Option<Box<OriginLabel>>,
}

/// Notation of the origin of a place.
pub struct OriginLabel {
    /// Handler, such as `fastcgi_pass unix:/run/php.sock`.
    pub handler: String,
    /// `*_cache_bypass`: each text as written and compiled.
    pub bypass: Vec<(String, Template)>,
    /// `*_no_cache`: each text as written and compiled.
    pub no_cache: Vec<(String, Template)>,
}
