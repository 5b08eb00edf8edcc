//! The `stream` block: connections of TCP that are passed on byte by byte, and datagrams of UDP.
//!
//! ```text
//! accepted -> [PROXY header] -> limit_conn -> allow, deny -> [TLS] -> [ssl_preread] -> set -> return
//!                                                                                         -> proxy_pass -> relay -> log
//!                                                                                         -> pass -> another listener
//! ```
//!
//! A connection is one of its worker's as those of HTTP are: it takes a seat of `worker_connections`, a reload lets it end with
//! the configuration that it began with, and `worker_shutdown_timeout` bounds how long. Peers are chosen by the groups of
//! `myriad-upstream`, and connections to them take seats, too.
//!
//! | module | what |
//! |---|---|
//! | `directives`, `settings` | what `stream` has beside the blocks that it shares with `http` |
//! | `compile` | the model -> [`StreamRuntime`] |
//! | `runtime` | servers, their content, the sockets they stand behind |
//! | `session`, `names`, `variables` | one connection, and what scripts read of it |
//! | `drive` | a connection from its first byte to its line in the log |
//! | `preread` | the name and protocols of TLS that a client asks for, read before the connection is passed on |
//! | `pass`, `sockets` | connections that other listening sockets of the configuration serve |
//! | `target`, `relay`, `pace` | whom to connect to; bytes both ways, with rates and time-outs |
//! | `greeting` | TLS with clients |
//! | `udp` | datagrams: sessions of clients, and their ends |
//! | `health_check` | peers asked how they are, beside sessions |
//! | `admission`, `limits` | `limit_conn`, `allow` and `deny` |

#![forbid(unsafe_code)]

mod admission;
mod compile;
mod directives;
mod drive;
mod greeting;
mod health_check;
mod limits;
mod log;
mod names;
mod pace;
mod pass;
pub mod preread;
mod relay;
mod runtime;
mod session;
mod settings;
mod sockets;
mod target;
mod udp;
mod variables;

pub use compile::{Kept, MakeResolver, MakeTables, MakeZone, Surroundings, compile};
pub use runtime::{StreamRuntime, Streams};
pub use udp::sessions;

use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("stream", directives::ROWS);

/// Checks of peers, for the list of features.
pub const HEALTH_CHECK: Feature = Feature::new("stream", health_check::ROWS);
