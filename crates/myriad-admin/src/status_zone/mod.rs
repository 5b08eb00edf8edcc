//! `status_zone`: name under which requests of servers or locations are counted ([`myriad_exchange::traffic`]).

mod directives;
mod settings;

use myriad_conf::settings::Settings;
use myriad_exchange::feature::Feature;

use settings::StatusZone;

/// Registration of the directive `status_zone`.
pub const FEATURE: Feature = Feature::new("control", directives::ROWS);

/// Returns the name of a server's traffic zone; `None` without `status_zone`.
pub fn of_server(settings: &Settings) -> Option<&str> {
    settings.feature::<StatusZone>().of_server.as_deref()
}

/// Returns the name of a location's traffic zone; `None` if neither the location nor an enclosing one has
/// `status_zone`, or with `off`.
pub fn of_location(settings: &Settings) -> Option<&str> {
    settings.feature::<StatusZone>().of_location.as_deref()
}
