//! What the directive says.

use myriad_conf::Span;

/// `https_only on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    /// `hsts=`: how long browsers remember it, seconds; none for `off` (RFC 6797).
    pub hsts_s: Option<u64>,
    /// `subdomains`: it holds for all names below, too.
    pub subdomains: bool,
    /// `preload`: browsers may be delivered with it.
    pub preload: bool,
    /// `port=`: where https is; none for 443, of which nothing is written.
    pub port: Option<u16>,
    /// Where it is written.
    pub span: Span,
}

impl Default for Rules {
    fn default() -> Self {
        // Half a year: what checks of sites ask for, and not so long that a mistake lasts.
        Self {
            hsts_s: Some(180 * 86_400),
            subdomains: false,
            preload: false,
            port: None,
            span: Span::default(),
        }
    }
}

/// `https_only` of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HttpsOnlySettings {
    /// None for `off`.
    pub rules: Option<Rules>,
}

myriad_conf::feature_settings!(HttpsOnlySettings);
