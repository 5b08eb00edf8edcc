//! Settings of `status_zone`.

/// Setting of `status_zone` on a configuration level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StatusZone {
    /// Traffic zone of the server; `None` if it is not configured. Locations inherit the value, but only the server
    /// uses it.
    pub of_server: Option<String>,
    /// Traffic zone of a location and its nested locations; `None` if it is not configured, or `off`.
    pub of_location: Option<String>,
}

myriad_conf::feature_settings!(StatusZone);
