//! From the model to a running site: compile, phases, content handlers, access log.
//!
//! | room | what |
//! |---|---|
//! | `acme` | certificates that renew themselves: the issuers at work |
//! | `compile` | the only place that sees both the configuration model and the runtime |
//! | `runtime` | the site as it runs: immutable, replaced whole by a reload |
//! | `exchange` | one request: what scripts may read of it |
//! | `phases` | rewrite, location, access, `try_files`: nothing waits but access |
//! | `content` | files, origins, the cache in front of them, errors |
//! | `purge` | purges, whoever asks for them |
//! | `passwords` | slow hashes, off the threads that serve |
//! | `output` | conditions, ranges, encodings, the head |
//! | `explain` | `-t --explain`: the same way, written down, up to where it would have an effect |
//! | `subrequest` | requests within a request: SSI, `auth_request` |
//! | `memory` | what a worker remembers between requests |
//! | `limits` | tables of visitors: how fast, how much at once |
//! | `access_log` | a finished request, written to the access logs of its place |
//! | `admin` | what administrators see and change |
//! | `tls` | keys, certificates, whom to believe |
//! | `site` | worker threads, reload, the end |

mod access_log;
mod acme;
mod admin;
mod compile;
mod content;
mod counters;
mod exchange;
mod explain;
mod failure;
mod keeping;
mod limits;
mod memory;
mod output;
mod passwords;
mod phases;
mod purge;
mod quic;
mod runtime;
mod service;
mod shortage;
mod site;
mod subrequest;
mod tls;
mod worker;

pub use admin::Administrator;
pub use compile::{
    TlsFiles, acme_orders, acme_state, address_name, check, is_tls_file, tls_files, tls_path, tls_warnings,
};
pub use counters::{Counter, Counters, Snapshot};
pub use explain::{Line as ExplainedLine, Question, explain};
pub use keeping::{Keep, Keeper};
pub use purge::{Outcome as PurgeOutcome, Refused as PurgeRefused};
pub use site::{Inherited, Site, StartError};
