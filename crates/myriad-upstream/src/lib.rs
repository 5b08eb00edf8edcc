//! Origins: peers, pools, retries; clients for FastCGI, HTTP/1, HTTP/2, and what answers with a CGI head (SCGI, uwsgi).
//!
//! A [`Group`] is an nginx `upstream`: peers, a way to choose among them, and their health. [`Group::fetch`] sends
//! one [`OriginRequest`] to the peer that is chosen, tries the next where [`OriginRequest::retry`] says so, and returns the
//! head with a body that is read from the origin only as fast as it is pulled. The request body goes up while the
//! response comes down: whoever polls either drives both, so nothing is spawned and nothing is buffered beyond one
//! piece each way.
//!
//! Everything runs on the worker's current-thread tokio runtime, with I/O and time enabled, and stays there. What
//! workers share is the health of peers and the idle FastCGI connections, both behind `Arc`, both kept by name in a
//! [`PeerStates`] that outlives a reload.

#![forbid(unsafe_code)]

mod address;
mod alarm;
mod attempts;
mod balance;
mod body;
mod cgi;
mod change;
mod check;
mod clock;
mod config;
mod connect;
mod connections;
mod control;
mod crc32;
mod dial;
mod edited;
mod error;
mod fastcgi;
mod fetch;
mod follow;
mod group;
mod h2;
mod heads;
mod health;
mod http;
mod inflight;
mod line;
mod link;
mod member;
mod memcached;
mod memcached_get;
mod order;
mod peer;
mod peer_config;
mod peer_counts;
mod peer_states;
mod peers;
mod pieces;
mod pool;
mod reach;
mod request;
mod resolver;
mod response;
mod ring;
mod roster;
mod servers;
mod sessions;
mod shortage;
mod stream;
mod timer;
mod tls;
mod tls_counts;
mod unix;
mod upload;

pub use address::{Address, AddressError};
pub use attempts::{Attempt, Attempts, Sent};
pub use change::{ServerChange, ServerSnapshot};
pub use check::{Finding, Probe, Probed, TellHealth};
pub use clock::woken;
pub use config::{GroupConfig, GroupZone, KeepAlive, NamedServer, NamedServers, PeerConfig};
pub use connections::{Connections, Seating};
pub use control::GroupControl;
pub use dial::{Dial, Dialed, ProbeLink};
pub use edited::EditError;
pub use error::{ErrorKind, OriginError, Phase};
pub use follow::TellUnresolved;
pub use group::Group;
pub use heads::give_head;
pub use health::{CheckCounts, CheckRules};
pub use line::{Line, Turn};
pub use memcached_get::MemcachedGet;
pub use order::PeerOrder;
pub use peer::{PeerSnapshot, PeerStatus};
pub use peer_counts::{PeerTraffic, RESPONSE_TIME_BOUNDS};
pub use peer_states::PeerStates;
pub use pool::HttpPool;
pub use request::{Affinity, Observer, OriginRequest, Protocol, RequestPayload, Timeouts};
pub use resolver::{ResolveError, Resolver, ResolverConfig, ResolverCounts, ResolverZone, message as dns};
pub use response::{OriginResponse, Trailers, Upgraded, UpgradedStream};
pub use sessions::Sessions;
pub use shortage::with_descriptor;
pub use stream::Stream;
pub use tls::{CheckPeer, OriginTls};
pub use tls_counts::{Distrust, TlsCounts};
