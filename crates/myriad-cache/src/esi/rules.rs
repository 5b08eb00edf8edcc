//! `esi*` at a place.

use myriad_conf::settings::Settings;
use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_policy::PersonalCookies;

use super::settings::{EsiSettings, PrivateCache};

/// `esi*`, compiled.
#[derive(Clone)]
pub(super) struct Rules {
    /// Cookies of known visitors.
    pub known: PersonalCookies,
    /// Most includes of a page.
    pub includes: usize,
    /// How deep they may stand.
    pub depth: u8,
    /// How long they are waited for, milliseconds.
    pub timeout_ms: u64,
    /// What parts of visitors are kept in.
    pub private: PrivateCache,
}

/// Compiles `esi*`.
pub(super) fn compile(_: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    let settings = settings.feature::<EsiSettings>();
    if !settings.on {
        return;
    }
    let names: Vec<String> = settings.known.iter().map(|name| name.lossy().into_owned()).collect();
    features.keep(Rules {
        known: PersonalCookies::new(false, names.iter().map(String::as_str)),
        includes: usize::try_from(settings.max_includes).unwrap_or(usize::MAX),
        depth: settings.max_depth,
        timeout_ms: settings.timeout,
        private: settings.private,
    });
}

/// The rules where a request is; none where `esi` is off.
pub(super) fn of(request: &Request) -> Option<&Rules> {
    request.place().features.get::<Rules>()
}
