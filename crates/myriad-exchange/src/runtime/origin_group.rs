//! A group of origins, as the configuration names it.

use myriad_script::Template;
use myriad_upstream::Group;

use super::StickyPlace;

/// A group of origins.
pub struct OriginGroup {
    /// The peers.
    pub group: Group,
    /// `hash`: what chooses among them.
    pub key: Option<Template>,
    /// `sticky`: how a visitor's origin is known again.
    pub sticky: Option<StickyPlace>,
}
