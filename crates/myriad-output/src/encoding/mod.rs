//! Which coding an answer comes in, and the coding of what is not stored in it.

mod choice;
mod offered;
mod on_the_way;
mod proxied;
mod variables;

pub use choice::{Encodings, accepted, encodings};
pub(super) use on_the_way::encode;
pub(super) use proxied::proxied_facts;
pub use variables::VARIABLES;
