//! What the directives say.

use myriad_conf::settings::Settings;
use myriad_conf::{Text, feature_settings};

use crate::settings::PersonalCookies;

/// `esi*` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EsiSettings {
    /// `esi`.
    pub on: bool,
    /// `esi_known_cookies`; a trailing `*` stands for any rest.
    pub known: Vec<Text>,
    /// `esi_session_cookies`: the known cookies that are secrets of one visitor.
    pub sessions: PersonalCookies,
    /// `esi_max_includes`.
    pub max_includes: u64,
    /// `esi_max_depth`.
    pub max_depth: u8,
    /// `esi_timeout`, milliseconds.
    pub timeout: u64,
    /// `esi_private_cache`.
    pub private: PrivateCache,
}

/// `esi_private_cache`: what parts of visitors are kept in. All 0 with `off`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PrivateCache {
    /// Bytes of all visitors.
    pub total: u64,
    /// `visitor=`: bytes of one visitor.
    pub visitor: u64,
    /// `valid=`: milliseconds that a part is kept at most.
    pub valid_ms: u64,
}

feature_settings!(EsiSettings);

/// Whether `esi` is on at a level: then what an origin says of its markup ends here.
pub fn is_on(settings: &Settings) -> bool {
    settings.feature::<EsiSettings>().on
}
