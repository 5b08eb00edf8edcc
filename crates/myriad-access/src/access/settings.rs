//! Settings of the directives.

use myriad_conf::settings::Network;

/// Settings of one `allow` or `deny`; the first rule that contains the client address decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessRule {
    /// True for `allow`, false for `deny`.
    pub allow: bool,
    /// Addresses to which the rule applies.
    pub network: Network,
}

/// `satisfy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Satisfy {
    /// All kinds of access checks must admit the request.
    #[default]
    All,
    /// One kind of access check must admit the request.
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
