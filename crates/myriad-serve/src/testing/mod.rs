//! Sites without sockets, for the unit tests of this crate and for the tests of the feature crates in
//! `tests/tests/in_process`.

mod folder;
mod phase_result;
mod site;
pub mod variables;

pub use folder::TestFolder;
#[cfg(test)]
pub(crate) use phase_result::run_exchange_from;
pub use phase_result::{
    PhaseResult, answer_exchange, immediate_answer, run_exchange, run_exchange_meanwhile, send_request,
    send_request_in,
};
pub use site::{TestSite, block_on, compiled, new_generation};
