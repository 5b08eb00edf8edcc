//! Requests to origins: peers, connection pools and retries; clients for FastCGI, HTTP/1, HTTP/2, memcached, and
//! protocols whose response has a CGI head (SCGI, uwsgi).
//!
//! A [`Group`] is an nginx `upstream`: peers, a balancing algorithm, and the health of the peers. [`Group::fetch`]
//! sends an [`OriginRequest`] to a peer, retries with other peers according to [`OriginRequest::retry`], and returns
//! the head with a body that is read from the origin only as fast as the consumer reads it. The request body is sent
//! while the response is read: polling the response drives both. An exchange spawns no task and buffers one read of
//! the response and a small part of the request body. Each HTTP/2 connection has its own task, which buffers up to a
//! flow-control window of each response.
//!
//! Everything runs on the current-thread Tokio runtime of a worker, with I/O and time enabled, and stays on that
//! thread. Workers share the health of peers and the idle FastCGI connections through `Arc`. Both are stored by name in
//! a [`PeerStates`], which persists over reloads.

#![forbid(unsafe_code)]

mod address;
mod alarm;
mod attempts;
mod balance;
mod body;
mod cgi;
mod check;
mod clock;
mod config;
mod connect;
mod connections;
mod control;
mod crc32;
mod descriptor_retry;
mod dial;
mod edited_servers;
mod error;
mod fastcgi;
pub mod fastcgi_protocol;
mod fetch;
mod group;
mod h2;
mod head_pool;
mod health;
mod http;
mod inflight;
mod link;
mod memcached;
mod memcached_get;
mod name_refresher;
mod peer;
mod peer_config;
mod peer_counts;
mod peer_order;
mod peer_states;
mod peers;
mod piece_queue;
mod pool;
mod request;
mod request_connection;
mod resolved_server;
mod resolver;
mod response;
mod restart;
mod ring;
mod roster;
mod server_change;
mod servers;
mod sessions;
mod stream;
mod timer;
mod tls;
mod tls_counts;
mod unix;
mod upload;
mod wait_queue;

pub use address::{AddressError, PeerAddress};
pub use attempts::{Attempt, Attempts, SentTracker};
pub use check::{HealthLogger, Probe, ProbeResult, ProbeTarget};
pub use clock::note_wakeup;
pub use config::{GroupConfig, GroupZone, KeepAlive, NamedServer, NamedServers, PeerConfig};
pub use connections::{Connections, WorkerConnections};
pub use control::GroupControl;
pub use descriptor_retry::with_descriptor;
pub use dial::{DialOptions, DialedConnection, ProbeLink};
pub use edited_servers::EditError;
pub use error::{ErrorKind, OriginError, Phase};
pub use group::Group;
pub use head_pool::give_head;
pub use health::{CheckCounts, CheckRules};
pub use memcached_get::MemcachedGet;
pub use name_refresher::UnresolvedLogger;
pub use peer::{PeerSnapshot, PeerStatus};
pub use peer_counts::{PeerTraffic, RESPONSE_TIME_BOUNDS};
pub use peer_order::PeerOrder;
pub use peer_states::PeerStates;
pub use pool::HttpPool;
pub use request::{Affinity, OriginRequest, Protocol, RequestPayload, Timeouts, UpstreamObserver};
pub use resolver::{ResolveError, Resolver, ResolverConfig, ResolverCounts, ResolverZone, message as dns};
pub use response::{OriginResponse, Trailers, Upgraded, UpgradedStream};
pub use server_change::{ServerChange, ServerSnapshot};
pub use sessions::Sessions;
pub use stream::PeerStream;
pub use tls::{OriginTls, PeerVerifier};
pub use tls_counts::{TlsCounts, TrustFailure};
pub use wait_queue::{WaitQueue, WaitTicket};
