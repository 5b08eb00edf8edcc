//! Settings of `https_only`.

use myriad_conf::Span;

/// Parameters of `https_only on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HttpsOnlyRules {
    /// `hsts=`: time for which browsers use only HTTPS, in seconds; `None` for `off` (RFC 6797).
    pub hsts_s: Option<u64>,
    /// `subdomains`: true to include all subdomains.
    pub subdomains: bool,
    /// `preload`: true to permit inclusion in the preload lists of browsers.
    pub preload: bool,
    /// `port=`: HTTPS port in redirects; `None` for 443.
    pub port: Option<u16>,
    /// Position of the directive in the configuration, for warnings.
    pub span: Span,
}

impl Default for HttpsOnlyRules {
    fn default() -> Self {
        // `hsts=` defaults to half a year: long enough for security scanners, short enough to limit the effect of a
        // mistake.
        Self {
            hsts_s: Some(180 * 86_400),
            subdomains: false,
            preload: false,
            port: None,
            span: Span::default(),
        }
    }
}

/// Setting `https_only` of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HttpsOnlySettings {
    /// Parameters of `https_only on`; `None` for `off`.
    pub rules: Option<HttpsOnlyRules>,
}

myriad_conf::feature_settings!(HttpsOnlySettings);
