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
    /// The request is admitted only if no check rejects it. A check that neither admits nor rejects it does not count.
    #[default]
    All,
    /// The request is admitted if one check admits it, even if others reject it, or if no check rejects it.
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
