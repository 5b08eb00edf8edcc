//! Sites without sockets, for the unit tests of this crate and of the feature crates.
//!
//! A unit test of such a crate is linked with two versions of its crate: the version compiled for tests, and the
//! version used by the site. It therefore must only use types of `myriad-exchange` for results of its own crate; a test
//! that needs more of both belongs in `tests/`.

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
