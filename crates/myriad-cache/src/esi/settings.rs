//! Settings of the directives.

use myriad_conf::settings::Settings;
use myriad_conf::{Text, feature_settings};

use crate::settings::PersonalCookies;

/// Settings of `esi*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EsiSettings {
    /// `esi`.
    pub on: bool,
    /// `esi_known_cookies`; a trailing `*` matches any suffix.
    pub known: Vec<Text>,
    /// `esi_session_cookies`: known cookies whose value is a secret of one visitor.
    pub sessions: PersonalCookies,
    /// `esi_max_includes`.
    pub max_includes: u64,
    /// `esi_max_depth`.
    pub max_depth: u8,
    /// `esi_timeout`, in milliseconds.
    pub timeout: u64,
    /// `esi_private_cache`.
    pub private: PrivateCache,
}

/// `esi_private_cache`: limits of the store for visitors' parts. All are 0 with `off`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PrivateCache {
    /// Maximum number of bytes for all visitors.
    pub total: u64,
    /// `visitor=`: maximum number of bytes for one visitor.
    pub visitor: u64,
    /// `valid=`: maximum lifetime of a part, in milliseconds.
    pub valid_ms: u64,
}

feature_settings!(EsiSettings);

/// Returns whether `esi` is on at a level. Myriad then consumes the origin's declaration of its markup.
pub fn is_on(settings: &Settings) -> bool {
    settings.feature::<EsiSettings>().on
}
