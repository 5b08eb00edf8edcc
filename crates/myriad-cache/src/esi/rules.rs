//! Compiled `esi*` settings of a location.

use myriad_conf::Text;
use myriad_conf::settings::Settings;
use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_policy::PersonalCookies;
use myriad_script::Predicates;

use super::settings::{EsiSettings, PrivateCache};
use super::visitor::KnownCookies;

/// Compiled `esi*` settings of a location.
#[derive(Clone)]
pub(super) struct EsiRules {
    /// Cookies of known visitors (`esi_known_cookies`), and session cookies (`esi_session_cookies`).
    pub cookies: KnownCookies,
    /// Maximum number of includes in a page (`esi_max_includes`).
    pub includes: usize,
    /// Maximum nesting depth of includes (`esi_max_depth`).
    pub depth: u8,
    /// Timeout for all parts of a page in milliseconds (`esi_timeout`).
    pub timeout_ms: u64,
    /// Limits of the memory for visitors' parts (`esi_private_cache`).
    pub private: PrivateCache,
    /// Conditions under which a response may be stored for one visitor (`esi_private_responses`).
    pub responses: Predicates,
}

/// Compiles the `esi*` settings of a location where `esi` is on.
pub(super) fn compile(
    compiler: &mut dyn SettingsCompiler,
    settings: &Settings,
    features: &mut PlaceFeatures,
) {
    let settings = settings.feature::<EsiSettings>();
    if !settings.on {
        return;
    }
    let known: Vec<_> = settings.known.iter().map(Text::lossy).collect();
    let sessions: Vec<_> = settings.sessions.names.iter().map(Text::lossy).collect();
    let builtin =
        if settings.sessions.builtin { PersonalCookies::builtin_sessions() } else { PersonalCookies::none() };
    features.insert(EsiRules {
        cookies: KnownCookies {
            known: PersonalCookies::new(false, known.iter().map(AsRef::as_ref)),
            sessions: builtin.with(sessions.iter().map(AsRef::as_ref)),
        },
        includes: usize::try_from(settings.max_includes).unwrap_or(usize::MAX),
        depth: settings.max_depth,
        timeout_ms: settings.timeout,
        private: settings.private,
        responses: Predicates::new(
            settings.responses.iter().map(|text| compiler.origin_template(text)).collect(),
        ),
    });
}

/// Returns the `esi*` settings of the request's location; `None` if `esi` is off.
pub(super) fn of(request: &Request) -> Option<&EsiRules> {
    request.place().features.get::<EsiRules>()
}
