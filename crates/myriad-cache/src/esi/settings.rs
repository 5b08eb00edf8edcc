//! Settings of `esi*`.

use myriad_conf::settings::Settings;
use myriad_conf::{Text, feature_settings};

use crate::settings::PersonalCookies;

/// Configured values of the `esi*` directives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EsiSettings {
    /// True if `esi` is on: ESI markup of responses is processed.
    pub on: bool,
    /// Names of `esi_known_cookies`; a final `*` matches any suffix.
    pub known: Vec<Text>,
    /// Known cookies whose value is a secret of one visitor (`esi_session_cookies`).
    pub sessions: PersonalCookies,
    /// Maximum number of includes in a page (`esi_max_includes`).
    pub max_includes: u64,
    /// Maximum nesting depth of includes (`esi_max_depth`).
    pub max_depth: u8,
    /// Timeout for all parts of a page in milliseconds (`esi_timeout`).
    pub timeout: u64,
    /// Limits of the memory for visitors' parts (`esi_private_cache`).
    pub private: PrivateCache,
    /// Conditions (`esi_private_responses`): a response may be stored for its visitor if any value is neither empty nor
    /// `0`.
    pub responses: Vec<Text>,
}

/// Limits of the memory for visitors' parts (`esi_private_cache`); all are 0 with `off`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PrivateCache {
    /// Maximum number of bytes of the private parts of all visitors together.
    pub total: u64,
    /// Maximum number of bytes of the private parts of one visitor (`visitor=`).
    pub visitor: u64,
    /// Maximum time in milliseconds for which a private part is stored (`valid=`).
    pub valid_ms: u64,
}

feature_settings!(EsiSettings);

/// Returns whether `esi` is on. The origin's declaration of its markup is then not forwarded to clients.
pub fn is_on(settings: &Settings) -> bool {
    settings.feature::<EsiSettings>().on
}
