//! `status_zone`: name under which requests of servers or locations are counted ([`myriad_exchange::traffic`]).

mod directives;
mod settings;
#[cfg(test)]
mod tests;

use myriad_conf::settings::Settings;
use myriad_exchange::feature::Feature;

use settings::StatusZone;

/// Feature entry for the list of features.
pub const FEATURE: Feature = Feature::new("control", directives::ROWS);

/// Returns the zone of a server, if any.
pub fn of_server(settings: &Settings) -> Option<&str> {
    settings.feature::<StatusZone>().of_server.as_deref()
}

/// Returns the zone of a location; `None` if neither it nor an enclosing location has one, or with `off`.
pub fn of_location(settings: &Settings) -> Option<&str> {
    settings.feature::<StatusZone>().of_location.as_deref()
}
