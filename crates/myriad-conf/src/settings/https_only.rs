//! `https_only`: everybody by https.

use crate::span::Span;

/// `https_only on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpsOnly {
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

impl Default for HttpsOnly {
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
