//! Settings of `status_zone`.

/// `status_zone` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StatusZone {
    /// Traffic zone of the server. Locations inherit the value, but only the server uses it.
    pub of_server: Option<String>,
    /// Traffic zone of a location and its nested locations.
    pub of_location: Option<String>,
}

myriad_conf::feature_settings!(StatusZone);
