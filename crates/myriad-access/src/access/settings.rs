//! Settings of `allow`, `deny` and `satisfy`.

use myriad_conf::settings::Network;

/// One `allow` or `deny`. Of several, the first that contains the client address decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessRule {
    /// True for `allow`, false for `deny`.
    pub allow: bool,
    /// Addresses to which the rule applies.
    pub network: Network,
}

/// `satisfy`: combination of address, password and `auth_request` checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Satisfy {
    /// Every check must admit the request.
    #[default]
    All,
    /// One check that admits the request is sufficient.
    Any,
}

/// `allow`, `deny` and `satisfy` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessSettings {
    /// `allow` and `deny`, in source order.
    pub rules: Vec<AccessRule>,
    /// `satisfy`: combination of the access checks.
    pub satisfy: Satisfy,
}

myriad_conf::feature_settings!(AccessSettings);
