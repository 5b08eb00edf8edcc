//! Settings of the directive.

/// `status_zone`, by the enclosing block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StatusZone {
    /// Zone of a server; nested locations inherit the value but do not count for it.
    pub of_server: Option<String>,
    /// Zone of a location and its nested locations.
    pub of_location: Option<String>,
}

myriad_conf::feature_settings!(StatusZone);
