//! Runtime of a `stream` block.

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

use crate::health_check::StreamCheck;
use crate::limits::SessionLimits;
use crate::names::StreamNames;
use crate::settings::StreamSettings;
use crate::sockets::PassTargets;

/// Maximum number of addresses from variables that a worker caches; clients may influence them.
const ADDRESSES: u64 = 1024;

/// Compiled `stream` block, shared by workers.
pub struct StreamRuntime {
    /// Servers of each socket, by its number.
    pub(crate) listeners: HashMap<u32, ListenerHosts>,
    /// Numbers of the UDP sockets among them.
    pub(crate) datagrams: HashSet<u32>,
    pub(crate) servers: Vec<StreamServer>,
    /// Sockets for `pass`.
    pub(crate) sockets: PassTargets,
    pub(crate) groups: HashMap<String, Arc<StreamGroup>>,
    pub(crate) formats: Vec<LogFormat>,
    pub(crate) names: StreamNames,
    pub(crate) resolvers: Vec<Arc<ResolverConfig>>,
    pub(crate) limits: Vec<(Box<str>, Arc<LimitCounts>)>,
    /// Base of relative paths.
    pub(crate) prefix: PathBuf,
    pub(crate) hostname: Box<[u8]>,
}

/// Server of a `stream` block.
pub(crate) struct StreamServer {
    pub settings: StreamSettings,
    /// Its first name (`$server_name`).
    pub name: Box<[u8]>,
    pub content: StreamContent,
    /// Health check of its group's peers; `None` without `health_check`.
    pub check: Option<StreamCheck>,
    /// TLS with clients.
    pub tls: ServerTls,
    /// Certificates whose names contain variables; empty if none does.
    pub named: Vec<NamedPair>,
    /// Verification of client certificates; `None` if they are not requested.
    pub clients: Option<ClientRules>,
    /// TLS with peers (`proxy_ssl`).
    pub peer_tls: Option<PeerTls>,
    /// `allow` and `deny`: the first rule that matches the client applies.
    pub access: Box<[AccessRule]>,
    pub limits: SessionLimits,
    /// `set`, in their order.
    pub assignments: Vec<(Arc<Variable>, Template)>,
    pub bind: Option<Template>,
    pub upload_rate: Template,
    pub download_rate: Template,
    /// Number of its resolver, and its time-out in milliseconds.
    pub resolver: Option<(usize, u64)>,
    pub access_logs: Vec<AccessLog>,
    pub errors: ErrorLog,
    /// Zone that counts its sessions; `None` without `status_zone`.
    pub traffic: Option<Arc<TrafficZone>>,
}

impl StreamServer {
    /// Returns whether client addresses from this proxy are trusted.
    pub(crate) fn trusts(&self, proxy: Option<std::net::IpAddr>) -> bool {
        self.settings.trusted.iter().any(|network: &Network| network.contains(proxy))
    }
}

/// TLS settings for peers.
pub(crate) struct PeerTls {
    pub config: Arc<ClientConfig>,
    /// `proxy_ssl_certificate`, if its name contains variables.
    pub certificate: Option<NamedPair>,
    /// Verification of a peer; `None` if every peer is accepted.
    pub check: Option<Arc<dyn PeerVerifier>>,
    /// Name that a peer must have (`proxy_ssl_name`, otherwise the name in `proxy_pass`).
    pub name: Template,
    /// Identifies the settings.
    pub id: u64,
}

/// Action of a server for a connection.
pub(crate) enum StreamContent {
    /// No action: connections are closed, as in nginx.
    Nothing,
    /// `return`.
    Return(Template),
    /// `pass`.
    Pass(Template),
    /// `proxy_pass` to an `upstream` block, or a fixed address.
    Group(Arc<StreamGroup>),
    /// `proxy_pass` with variables.
    Named(Template),
}

/// Group of peers, and the key of `hash`.
pub(crate) struct StreamGroup {
    pub group: Group,
    pub key: Option<Template>,
}

impl StreamRuntime {
    /// Returns the decisions of its limits.
    pub fn limits(&self) -> &[(Box<str>, Arc<LimitCounts>)] {
        &self.limits
    }

    /// Returns the zones that count its sessions, each once, in the order of the names.
    pub fn traffic_zones(&self) -> Vec<Arc<TrafficZone>> {
        let zones = self.servers.iter().filter_map(|server| server.traffic.as_ref());
        let by_name: BTreeMap<&str, _> = zones.map(|zone| (zone.name(), zone)).collect();
        by_name.into_values().cloned().collect()
    }

    /// Returns its resolvers.
    pub fn resolvers(&self) -> &[Arc<ResolverConfig>] {
        &self.resolvers
    }

    /// Returns whether a socket, by its number, is a UDP socket.
    pub fn is_datagram(&self, number: u32) -> bool {
        self.datagrams.contains(&number)
    }

    /// Starts to resolve the names of groups periodically, unless another worker does so already; `tell` gets the
    /// failures.
    pub fn start_resolving(&self, tell: &UnresolvedLogger) {
        for group in self.groups.values() {
            group.group.follow_names(tell);
        }
    }

    /// Returns its groups, for administrators.
    pub fn controls(&self) -> Vec<GroupControl> {
        self.groups.values().map(|group| group.group.control()).collect()
    }

    pub(crate) fn server(&self, id: ServerId) -> &StreamServer {
        &self.servers[id as usize]
    }
}

/// `stream` block in one worker, from one reload to the next.
pub struct WorkerStreams {
    pub(crate) runtime: Arc<StreamRuntime>,
    pub(crate) worker: Rc<WorkerState>,
    /// Resolvers, by their number in the runtime.
    pub(crate) resolvers: Vec<Resolver>,
    /// Groups of addresses from variables, by the value of the variable.
    pub(crate) addressed: RefCell<Lru<String, Arc<StreamGroup>>>,
}

impl WorkerStreams {
    /// Creates a block without connections.
    pub fn new(runtime: Arc<StreamRuntime>, worker: Rc<WorkerState>) -> Rc<Self> {
        let resolvers = runtime.resolvers.iter().map(|config| Resolver::new(Arc::clone(config))).collect();
        Rc::new(Self { runtime, worker, resolvers, addressed: RefCell::new(Lru::new(ADDRESSES)) })
    }
}
