//! Group of origins (`upstream`) or a single origin.

use myriad_script::Template;
use myriad_upstream::Group;

use super::StickyPlace;

/// Group of origins: that of an `upstream` block, or a single origin.
pub struct OriginGroup {
    /// Peers of the group, and the method by which requests are distributed to them.
    pub group: Group,
    /// `hash`: text whose value selects the peer; `None` for other load balancing methods.
    pub key: Option<Template>,
    /// `sticky`: session persistence; `None` without it.
    pub sticky: Option<StickyPlace>,
}
