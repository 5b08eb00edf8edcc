//! Sites without sockets, for the unit tests of this crate and of the crates of features.
//!
//! A unit test of such a crate sees its own crate twice: as it is compiled for tests, and as the site uses it. So what a test
//! asks of its own crate is asked with types of `myriad-exchange`; a test that needs more of both is one in `tests/`.

mod folder;
mod reached;
mod site;
pub mod variables;

pub use folder::TestFolder;
#[cfg(test)]
pub(crate) use reached::go_from;
pub use reached::{Reached, answered_at_once, ask, ask_in, go, go_meanwhile};
pub use site::{TestSite, block_on, compiled, generation};
