//! `status_zone`: the name under which the requests of servers, or of locations, are counted ([`myriad_exchange::traffic`]).

mod directives;
mod settings;
#[cfg(test)]
mod tests;

use myriad_conf::settings::Settings;
use myriad_exchange::feature::Feature;

use settings::StatusZone;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("control", directives::ROWS);

/// The zone of a server; none where it has none.
pub fn of_server(settings: &Settings) -> Option<&str> {
    settings.feature::<StatusZone>().of_server.as_deref()
}

/// The zone of a location; none where neither it nor one around it has one, or it says `off`.
pub fn of_location(settings: &Settings) -> Option<&str> {
    settings.feature::<StatusZone>().of_location.as_deref()
}
