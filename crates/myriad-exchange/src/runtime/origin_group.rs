//! Group of origins defined by the configuration.

use myriad_script::Template;
use myriad_upstream::Group;

use super::StickyPlace;

/// Group of origins.
pub struct OriginGroup {
    /// Peers.
    pub group: Group,
    /// `hash`: text whose value selects the peer.
    pub key: Option<Template>,
    /// `sticky`: session persistence.
    pub sticky: Option<StickyPlace>,
}
