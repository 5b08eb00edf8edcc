//! What the directive says.

/// `status_zone`, by the block that it stands in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StatusZone {
    /// Of a server; it does not count for the locations within, which only carry it along.
    pub of_server: Option<String>,
    /// Of a location, and the locations within.
    pub of_location: Option<String>,
}

myriad_conf::feature_settings!(StatusZone);
