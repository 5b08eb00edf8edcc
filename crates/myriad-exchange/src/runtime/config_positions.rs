//! Positions of runtime objects in the configuration, used only for explanations (`myriad -t --explain`).

use myriad_conf::Span;
use myriad_script::Template;

/// Positions in the configuration of servers, locations and rewrite directives, by their numbers.
#[derive(Default)]
pub struct ConfigPositions {
    /// Labels of locations and other levels, by [`super::PlaceId`].
    pub places: Vec<PlaceLabel>,
    /// Positions of the `server` directives, by [`super::ServerId`].
    pub servers: Vec<Span>,
    /// Positions of rewrite directives, by the tags of the steps in rewrite programs.
    pub rules: Vec<Span>,
}

/// Label of a location or other level: its text and position in the configuration.
#[derive(Default)]
pub struct PlaceLabel {
    /// Text such as `location ~ \.php$`; empty if the level is not a location.
    pub name: Box<str>,
    /// Position of the location.
    pub span: Span,
    /// Label of the origin of the location; `None` if its handler does not contact one.
    pub origin: Option<Box<OriginLabel>>,
}

/// Texts of a location's origin settings in the configuration.
pub struct OriginLabel {
    /// Directive of the handler, such as `fastcgi_pass unix:/run/php.sock`.
    pub handler: String,
    /// `*_cache_bypass`: each condition, as written in the configuration and compiled.
    pub bypass: Vec<(String, Template)>,
    /// `*_no_cache`: each condition, as written in the configuration and compiled.
    pub no_cache: Vec<(String, Template)>,
}
