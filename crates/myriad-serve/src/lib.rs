//! Compiles the configuration model and runs the site: compiler, request phases, worker threads, and the list of
//! features.
//!
//! | module | content |
//! |---|---|
//! | `acme` | threads that obtain certificates and OCSP responses |
//! | `temporary_thread` | return of short-lived memory to the system |
//! | `compile` | compiler from the configuration model to the runtime |
//! | `features` | list of features, one per line |
//! | `handshake_certificates` | certificates whose names contain variables |
//! | `machine` | memory of the machine and of the process |
//! | `phases` | rewrite, location, access, `try_files` |
//! | `explain` | `-t --explain`: runs the phases and reports their decisions, up to the first step with an effect |
//! | `service` | interface of the site for the protocol drivers |
//! | `site` | start, worker threads, reload, shutdown |
//! | `worker_capacity` | limits of connections and descriptors |
//! | `quic`, `streams`, `tracing` | optional parts of the binary, each with a replacement for builds without it |
//! | `testing` | sites without sockets, for unit tests of the feature crates |

mod acme;
mod compile;
mod explain;
mod features;
mod handshake_certificates;
mod machine;
mod phases;
mod quic;
mod service;
mod site;
mod streams;
mod temporary_thread;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tracing;
mod worker_capacity;

pub use compile::check;
pub use explain::explain;
pub use features::{documented_variables, registry, variables, warnings};
pub use machine::available_memory as machine_memory;
pub use myriad_admin::admin::Administrator;
pub use myriad_admin::purge::{PurgeFailure as PurgeRefused, PurgeResult as PurgeOutcome};
pub use myriad_exchange::counters::{Counters, Snapshot};
pub use myriad_exchange::exchange::{
    DocumentedVariable, ExplainedDecision as ExplainedLine, ExplainedRequest,
};
pub use myriad_exchange::state_storage::{SharedStateStorage, StateStorage};
pub use myriad_net::{QuicProcess, QuicRelay, Standing, listener_id};
pub use myriad_store::page::{Counter, FolderCreator};
pub use site::{HistoryStorage, InheritedResources, RunningSite, StartError, history_path};
pub use temporary_thread::{release_memory_soon, run_on_temporary_thread};
