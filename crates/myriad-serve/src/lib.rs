//! From the model to a running site: compile, phases, worker threads; the list of features.
//!
//! | room | what |
//! |---|---|
//! | `acme` | certificates that renew themselves: the issuers at work |
//! | `apart` | memory that is needed for a moment, and goes back to the system |
//! | `compile` | the only place that sees both the configuration model and the runtime |
//! | `features` | the list of what a configuration may turn on, a line each |
//! | `phases` | rewrite, location, access, `try_files`: nothing waits but access |
//! | `explain` | `-t --explain`: the same way, written down, up to where it would have an effect |
//! | `site` | worker threads, reload, the end |
//! | `testing` | sites without sockets, for the unit tests of the crates of features |

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

pub use apart::{apart, give_back_soon};
pub use compile::check;
pub use explain::explain;
pub use features::{documented_variables, registry, variables, warnings};
pub use machine::memory as machine_memory;
pub use myriad_control::admin::Administrator;
pub use myriad_control::purge::{Outcome as PurgeOutcome, Refused as PurgeRefused};
pub use myriad_exchange::counters::{Counters, Snapshot};
pub use myriad_exchange::exchange::{DocumentedVariable, Line as ExplainedLine, Question};
pub use myriad_exchange::keeping::{Keep, Keeper};
pub use myriad_net::{QuicProcess, Relay, Standing, listener_id};
pub use myriad_page::{Counter, KeepFolders};
pub use site::{Inherited, Kept, Site, StartError, history_path};
