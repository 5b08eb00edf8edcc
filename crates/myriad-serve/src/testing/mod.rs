//! Sites without sockets, for the unit tests of this crate and for the tests of the feature crates in
//! `tests/tests/in_process`.
//!
//! The unit tests of `myriad-cache` use them too. Such a test is linked with two versions of its crate: the one compiled
//! for tests, and the one used by the site. Types of the two versions are different types, so the test may use only
//! types of `myriad-exchange` to access results of its own crate.

mod folder;
mod phase_result;
mod site;
pub mod variables;

pub use folder::TestFolder;
#[cfg(test)]
pub(crate) use phase_result::run_exchange_from;
pub use phase_result::{
    PhaseResult, immediate_answer, run_exchange, run_exchange_meanwhile, send_request, send_request_in,
};
pub use site::{TestSite, block_on, compiled, new_generation};
