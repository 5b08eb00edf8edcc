//! The `stream` block: relay of TCP connections and UDP datagrams.
//!
//! ```text
//! accepted -> [PROXY header] -> limit_conn -> allow, deny -> [TLS] -> [ssl_preread] -> set -> return
//!                                                                                       -> proxy_pass -> relay -> log
//!                                                                                       -> pass -> another listener
//! ```
//!
//! Connections belong to their worker as HTTP connections do. Each takes a slot of `worker_connections`, uses the
//! configuration with which it started even after a reload, and is closed after `worker_shutdown_timeout`. Peers are
//! selected by the groups of `myriad-upstream`; connections to peers take slots as well.
//!
//! | module | content |
//! |---|---|
//! | `directives`, `settings` | directives that `stream` has in addition to those shared with `http` |
//! | `compile` | compilation of the configuration to a [`StreamRuntime`] |
//! | `runtime` | compiled servers and their sockets |
//! | `session`, `names`, `variables` | a session and its variables |
//! | `tcp` | processing of a TCP connection |
//! | `preread` | server name and protocols of a TLS client hello, read before the connection is relayed |
//! | `pass`, `sockets` | connections passed to other listening sockets of the configuration |
//! | `target`, `relay`, `direction_rate` | selection of the peer; relay in both directions with rate limits |
//! | `tls` | TLS with clients |
//! | `udp` | processing of UDP datagrams |
//! | `health_check` | health checks of peers |
//! | `admission`, `limits`, `log` | `limit_conn`, `allow` and `deny`; access logs |

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

/// Entry of the `stream` directives in the list of features.
pub const FEATURE: Feature = Feature::new("stream", directives::ROWS);

/// Entry of the `stream` health checks in the list of features.
pub const HEALTH_CHECK: Feature = Feature::new("stream", health_check::ROWS);
