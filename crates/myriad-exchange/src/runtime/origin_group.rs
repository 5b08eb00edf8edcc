//! Group of origins (`upstream`) or a single origin.

use myriad_script::Template;
use myriad_upstream::Group;

use super::StickyPlace;

/// Group of origins (`upstream`) or a single origin.
pub struct OriginGroup {
    /// Peers and their load balancing.
    pub group: Group,
    /// `hash`: text whose value selects the peer; `None` for other methods.
    pub key: Option<Template>,
    /// `sticky`: session persistence; `None` without it.
    pub sticky: Option<StickyPlace>,
}
