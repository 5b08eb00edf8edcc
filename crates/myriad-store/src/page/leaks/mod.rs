//! Results of a zone's leak guard.
//!
//! | file | content |
//! |---|---|
//! | `records` | quarantined pages, values that occur in pages by coincidence, verifications |
//! | `findings` | list of findings, for administrators |
//! | `clients` | limits for each client, so that a single client cannot prevent pages from being stored |

mod clients;
mod findings;
mod records;

pub use findings::{LeakFinding, LeakState};
pub use records::{LeakRecords, LeakedPage, LeakedValue};
