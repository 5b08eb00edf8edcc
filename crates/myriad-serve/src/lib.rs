//! From the model to a running site: compile, phases, content handlers, access log.
//!
//! | room | what |
//! |---|---|
//! | `acme` | certificates that renew themselves: the issuers at work |
//! | `compile` | the only place that sees both the configuration model and the runtime |
//! | `features` | what a configuration may turn on, a folder each: directives, settings, compilation, use |
//! | `phases` | rewrite, location, access, `try_files`: nothing waits but access |
//! | `gate` | checks of visitors: `limit_req`, `limit_conn`, `allow` and `deny`, `auth_basic`, `auth_request` |
//! | `content` | files, lists of folders, the server's status |
//! | `origin` | how an origin is asked, and what of its answer goes to the visitor |
//! | `cache` | the journey of a page: looked up, waited for, fetched, stored, served |
//! | `api` | what administrators ask over HTTP |
//! | `purge` | purges, whoever asks for them |
//! | `output` | conditions, ranges, encodings, the head |
//! | `explain` | `-t --explain`: the same way, written down, up to where it would have an effect |
//! | `admin` | what administrators see and change |
//! | `site` | worker threads, reload, the end |

mod acme;
mod admin;
mod cache;
mod compile;
mod content;
mod explain;
mod features;
mod gate;
mod origin;
mod output;
mod phases;
mod purge;
mod quic;
mod service;
mod shortage;
mod site;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod variables;

pub use admin::Administrator;
pub use compile::{address_name, check};
pub use explain::{Question, explain};
pub use features::registry;
pub use myriad_exchange::counters::{Counters, Snapshot};
pub use myriad_exchange::exchange::{DocumentedVariable, Line as ExplainedLine, documented as variables};
pub use myriad_exchange::keeping::{Keep, Keeper};
pub use myriad_page::{Counter, KeepFolders};
pub use purge::{Outcome as PurgeOutcome, Refused as PurgeRefused};
pub use site::{Inherited, Site, StartError};
