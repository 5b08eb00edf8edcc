//! What the directives say.

use myriad_conf::settings::Network;

/// One `allow` or `deny`; the first that covers the client decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessRule {
    /// `allow` rather than `deny`.
    pub allow: bool,
    /// The addresses that it covers.
    pub network: Network,
}

/// `satisfy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Satisfy {
    /// Every kind of access rule must agree.
    #[default]
    All,
    /// One kind is enough.
    Any,
}

/// `allow`, `deny` and `satisfy` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessSettings {
    /// `allow` and `deny` in source order.
    pub rules: Vec<AccessRule>,
    /// `satisfy`.
    pub satisfy: Satisfy,
}

myriad_conf::feature_settings!(AccessSettings);
