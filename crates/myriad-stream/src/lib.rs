//! The `stream` block: TCP connections relayed byte by byte, and UDP datagrams.
//!
//! ```text
//! accepted -> [PROXY header] -> limit_conn -> allow, deny -> [TLS] -> [ssl_preread] -> set -> return
//!                                                                                         -> proxy_pass -> relay -> log
//!                                                                                         -> pass -> another listener
//! ```
//!
//! Connections belong to their worker as HTTP connections do: each takes a seat of `worker_connections`, continues
//! after a reload with the configuration that it started with, and is limited by `worker_shutdown_timeout`. Peers are
//! selected by the groups of `myriad-upstream`, and connections to them take seats, too.
//!
//! | module | content |
//! |---|---|
//! | `directives`, `settings` | directives of `stream` in addition to those shared with `http` |
//! | `compile` | the model -> [`StreamRuntime`] |
//! | `runtime` | servers, their content, and their sockets |
//! | `session`, `names`, `variables` | a connection, and its values for scripts |
//! | `tcp` | a connection from its first byte to its log line |
//! | `preread` | server name and protocols of a TLS client hello, read before the connection is relayed |
//! | `pass`, `sockets` | connections served by other listening sockets of the configuration |
//! | `target`, `relay`, `direction_rate` | selection of the peer; relaying in both directions, with rates and time-outs |
//! | `tls` | TLS with clients |
//! | `udp` | datagrams: sessions of clients |
//! | `health_check` | health checks of peers |
//! | `admission`, `limits` | `limit_conn`, `allow` and `deny` |

#![forbid(unsafe_code)]

mod admission;
mod compile;
mod direction_rate;
mod directives;
mod health_check;
mod limits;
mod log;
mod names;
mod pass;
pub mod preread;
mod relay;
mod runtime;
mod session;
mod settings;
mod sockets;
mod target;
mod tcp;
mod tls;
mod udp;
mod variables;

pub use compile::{
    ResolverFactory, StreamCompileInputs, StreamReloadState, TablesFactory, TrafficZoneFactory, compile,
};
pub use runtime::{StreamRuntime, WorkerStreams};
pub use udp::sessions;

use myriad_exchange::feature::Feature;

/// The `stream` feature, for the list of features.
pub const FEATURE: Feature = Feature::new("stream", directives::ROWS);

/// Health checks of peers, for the list of features.
pub const HEALTH_CHECK: Feature = Feature::new("stream", health_check::ROWS);
