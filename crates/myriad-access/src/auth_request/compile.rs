//! Compilation of `auth_request` and `auth_request_set`.

use myriad_conf::Text;
use myriad_conf::settings::Settings;

use super::check::AuthRequest;
use super::settings::AuthRequestSettings;
use myriad_exchange::exchange::Check;
use myriad_exchange::runtime::SettingsCompiler;

/// Returns the variables that `auth_request_set` assigns on a level, with their `$`.
pub fn assigned(settings: &Settings) -> impl Iterator<Item = &Text> {
    settings.feature::<AuthRequestSettings>().sets.iter().map(|set| &set.variable)
}

/// Returns the values of `auth_request_set` on a level without `auth_request`, where they are never evaluated.
pub fn unused_values(settings: &Settings) -> impl Iterator<Item = &Text> {
    let settings = settings.feature::<AuthRequestSettings>();
    settings.sets.iter().filter(|_| settings.uri.is_none()).map(|set| &set.value)
}

/// Returns the check that sends the subrequest of a location; `None` if it has no `auth_request`.
pub(crate) fn check(settings: &Settings, compile: &mut dyn SettingsCompiler) -> Option<Box<dyn Check>> {
    let settings = settings.feature::<AuthRequestSettings>();
    let uri = settings.uri.as_ref()?.bytes().into();
    let sets = settings.sets.iter();
    let sets = sets.filter_map(|set| compile.assignment(&set.variable, &set.value)).collect();
    Some(Box::new(AuthRequest { uri, sets }))
}
