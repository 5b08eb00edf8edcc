//! From the model to a running site: compiler, phases, worker threads, and the list of features.
//!
//! | module | content |
//! |---|---|
//! | `acme` | agents of certificate issuers |
//! | `apart` | return of short-lived memory to the system |
//! | `compile` | compiler, the only module that depends on both the configuration model and the runtime |
//! | `features` | list of features, one per line |
//! | `phases` | rewrite, location, access, `try_files`: only access checks can wait |
//! | `explain` | `-t --explain`: the same phases with a report, up to the first step with an effect |
//! | `site` | worker threads, reload, shutdown |
//! | `quic`, `tracing` | optional parts of the binary, each with a replacement for builds without it |
//! | `testing` | sites without sockets, for unit tests of the feature crates |

mod acme;
mod apart;
mod compile;
mod explain;
mod features;
mod greeting;
mod machine;
mod phases;
mod quic;
mod service;
mod shortage;
mod site;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tracing;

pub use apart::{apart, give_back_soon};
pub use compile::check;
pub use explain::explain;
pub use features::{documented_variables, registry, variables, warnings};
pub use machine::memory as machine_memory;
pub use myriad_admin::admin::Administrator;
pub use myriad_admin::purge::{Outcome as PurgeOutcome, Refused as PurgeRefused};
pub use myriad_exchange::counters::{Counters, Snapshot};
pub use myriad_exchange::exchange::{DocumentedVariable, Line as ExplainedLine, Question};
pub use myriad_exchange::keeping::{Keep, Keeper};
pub use myriad_net::{QuicProcess, Relay, Standing, listener_id};
pub use myriad_store::page::{Counter, KeepFolders};
pub use site::{Inherited, Kept, Site, StartError, history_path};
