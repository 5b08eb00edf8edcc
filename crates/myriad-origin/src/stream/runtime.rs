//! Compiled `stream` block.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use myriad_access::access::AccessRule;
use myriad_base::bounded::Lru;
use myriad_conf::settings::Network;
use myriad_exchange::runtime::{LimitCounts, ListenerHosts, NamedPair, ServerId, ServerTls};
use myriad_exchange::traffic::TrafficZone;
use myriad_exchange::worker::WorkerState;
use myriad_log::{AccessLog, ErrorLog, LogFormat};
use myriad_script::{Template, Variable};
use myriad_tls::ClientRules;
use myriad_upstream::{Group, GroupControl, PeerVerifier, Resolver, ResolverConfig, UnresolvedLogger};
use rustls::ClientConfig;

use crate::stream::health_check::StreamCheck;
use crate::stream::limits::SessionLimits;
use crate::stream::names::StreamNames;
use crate::stream::settings::StreamSettings;
use crate::stream::sockets::PassTargets;

/// Maximum number of groups for addresses from variables that a worker caches, because clients may influence the
/// variables.
const ADDRESSES: u64 = 1024;

/// Compiled `stream` block, shared by all workers.
pub struct StreamRuntime {
    /// Servers of each listening socket, by the number of the socket.
    pub(crate) listeners: HashMap<u32, ListenerHosts>,
    /// Numbers of the UDP sockets.
    pub(crate) datagrams: HashSet<u32>,
    pub(crate) servers: Vec<StreamServer>,
    /// Listening sockets to which `pass` can pass connections.
    pub(crate) sockets: PassTargets,
    pub(crate) groups: HashMap<String, Arc<StreamGroup>>,
    pub(crate) formats: Vec<LogFormat>,
    pub(crate) names: StreamNames,
    pub(crate) resolvers: Vec<Arc<ResolverConfig>>,
    pub(crate) limits: Vec<(Box<str>, Arc<LimitCounts>)>,
    /// Folder against which relative paths of access logs are resolved if they contain variables.
    pub(crate) prefix: PathBuf,
    pub(crate) hostname: Box<[u8]>,
}

/// Compiled server of a `stream` block.
pub(crate) struct StreamServer {
    pub settings: StreamSettings,
    /// First server name of the server (`$server_name`).
    pub name: Box<[u8]>,
    pub content: StreamContent,
    /// Health check of the peers of the server's group; `None` without `health_check` in the server.
    pub check: Option<StreamCheck>,
    /// TLS settings for connections from clients.
    pub tls: ServerTls,
    /// Server certificates whose names contain variables; empty if there are none.
    pub named: Vec<NamedPair>,
    /// Verification of client certificates; `None` if none are requested.
    pub clients: Option<ClientRules>,
    /// TLS settings for connections to peers; `None` without `proxy_ssl` or `proxy_pass`.
    pub peer_tls: Option<PeerTls>,
    /// `allow` and `deny`: the first rule that matches the client applies.
    pub access: Box<[AccessRule]>,
    pub limits: SessionLimits,
    /// Variables and values of the `set` directives, in order.
    pub assignments: Vec<(Arc<Variable>, Template)>,
    pub bind: Option<Template>,
    pub upload_rate: Template,
    pub download_rate: Template,
    /// Index of the resolver in [`StreamRuntime::resolvers`], and its timeout in milliseconds; `None` if neither the
    /// server nor `stream` has a `resolver`.
    pub resolver: Option<(usize, u64)>,
    pub access_logs: Vec<AccessLog>,
    pub errors: ErrorLog,
    /// Traffic zone that counts the sessions; `None` without `status_zone`.
    pub traffic: Option<Arc<TrafficZone>>,
}

impl StreamServer {
    /// Returns true if the client address in a PROXY protocol header is trusted (`set_real_ip_from`). `proxy` is the
    /// address of the proxy that sent the header; `None` for a unix socket.
    pub(crate) fn trusts(&self, proxy: Option<std::net::IpAddr>) -> bool {
        self.settings.trusted.iter().any(|network: &Network| network.contains(proxy))
    }
}

/// TLS settings for connections to peers.
pub(crate) struct PeerTls {
    pub config: Arc<ClientConfig>,
    /// Client certificate (`proxy_ssl_certificate`) if a file name of its pair contains variables; otherwise `None`.
    pub certificate: Option<NamedPair>,
    /// Verification of the peer's certificate; `None` if any certificate is accepted.
    pub check: Option<Arc<dyn PeerVerifier>>,
    /// Name for which the peer's certificate must be valid: `proxy_ssl_name`, or the argument of `proxy_pass`. A port
    /// in the evaluated name is ignored.
    pub name: Template,
    /// Unique identifier of the TLS settings.
    pub id: u64,
}

/// Directive that handles the connections of a server.
pub(crate) enum StreamContent {
    /// No directive: connections are closed with the status 500.
    Nothing,
    /// Sends a text (`return`).
    Return(Template),
    /// Passes the connection to another listening socket (`pass`).
    Pass(Template),
    /// `proxy_pass` without variables: an `upstream` block, an address, or a host name that was resolved when the
    /// configuration was loaded.
    Group(Arc<StreamGroup>),
    /// `proxy_pass` with variables: text that evaluates to the name of a group, an address or a host name.
    Named(Template),
}

/// Group of peers for `proxy_pass`, with the key of `hash` if it has one.
pub(crate) struct StreamGroup {
    pub group: Group,
    pub key: Option<Template>,
}

impl StreamRuntime {
    /// Returns the names of the `limit_conn` zones with their decision counters.
    pub fn limits(&self) -> &[(Box<str>, Arc<LimitCounts>)] {
        &self.limits
    }

    /// Returns the traffic zones that count the sessions, each once, sorted by name.
    pub fn traffic_zones(&self) -> Vec<Arc<TrafficZone>> {
        let zones = self.servers.iter().filter_map(|server| server.traffic.as_ref());
        let by_name: BTreeMap<&str, _> = zones.map(|zone| (zone.name(), zone)).collect();
        by_name.into_values().cloned().collect()
    }

    /// Returns the resolver settings of the servers, set there or inherited from `stream`, each once.
    pub fn resolvers(&self) -> &[Arc<ResolverConfig>] {
        &self.resolvers
    }

    /// Returns true if the listening socket with this number is a UDP socket.
    pub fn is_datagram(&self, number: u32) -> bool {
        self.datagrams.contains(&number)
    }

    /// Starts to resolve the host names in groups that have a resolver periodically, unless another worker has started
    /// it. Failures are passed to `log_unresolved`.
    pub fn start_resolving(&self, log_unresolved: &UnresolvedLogger) {
        for group in self.groups.values() {
            group.group.follow_names(log_unresolved);
        }
    }

    /// Returns the control handles of all groups, for administration; groups for addresses from variables are not
    /// included.
    pub fn controls(&self) -> Vec<GroupControl> {
        self.groups.values().map(|group| group.group.control()).collect()
    }

    pub(crate) fn server(&self, id: ServerId) -> &StreamServer {
        &self.servers[id as usize]
    }
}

/// `stream` block of one configuration in one worker.
pub struct WorkerStreams {
    pub(crate) runtime: Arc<StreamRuntime>,
    pub(crate) worker: Rc<WorkerState>,
    /// Resolvers, at their indexes in the runtime.
    pub(crate) resolvers: Vec<Resolver>,
    /// Groups for addresses from variables, by the evaluated name, followed by its resolved addresses if it is a host
    /// name.
    pub(crate) addressed: RefCell<Lru<String, Arc<StreamGroup>>>,
}

impl WorkerStreams {
    /// Creates the part of a `stream` block that belongs to one worker.
    pub fn new(runtime: Arc<StreamRuntime>, worker: Rc<WorkerState>) -> Rc<Self> {
        let resolvers = runtime.resolvers.iter().map(|config| Resolver::new(Arc::clone(config))).collect();
        Rc::new(Self { runtime, worker, resolvers, addressed: RefCell::new(Lru::new(ADDRESSES)) })
    }
}
