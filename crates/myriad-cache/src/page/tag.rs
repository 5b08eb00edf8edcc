//! Entity tag of a page whose origin sends none.

use myriad_policy::EntityTag;
use myriad_store::Body;
use xxhash_rust::xxh3::Xxh3Default;

/// Returns a strong entity tag, computed from the bytes of the body.
pub(crate) fn tag_of(body: &Body) -> EntityTag {
    let mut hash = Xxh3Default::new();
    body.segments().iter().for_each(|segment| hash.update(segment));
    EntityTag::generated(hash.digest())
}
