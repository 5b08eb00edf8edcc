//! A `stream` block as it runs.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use myriad_bounded::Lru;
use myriad_conf::settings::Network;
use myriad_exchange::runtime::{LimitCounts, Listener, NamedPair, ServerId, ServerTls};
use myriad_exchange::traffic::TrafficZone;
use myriad_exchange::worker::WorkerState;
use myriad_gate::access::AccessRule;
use myriad_log::{AccessLog, ErrorLog, Format};
use myriad_script::{Template, Variable};
use myriad_tls::ClientRules;
use myriad_upstream::{CheckPeer, Group, GroupControl, Resolver, ResolverConfig, TellUnresolved};
use rustls::ClientConfig;

use crate::health_check::StreamCheck;
use crate::limits::Limits;
use crate::names::StreamNames;
use crate::settings::StreamSettings;
use crate::sockets::Sockets;

/// Most addresses made of variables that a worker remembers; a client may have its say in what they hold.
const ADDRESSES: u64 = 1024;

/// A `stream` block, compiled; workers share it.
pub struct StreamRuntime {
    /// The servers behind each socket, by its number.
    pub(crate) listeners: HashMap<u32, Listener>,
    /// The numbers of those that are sockets of UDP.
    pub(crate) datagrams: HashSet<u32>,
    pub(crate) servers: Vec<Server>,
    /// Sockets that `pass` finds.
    pub(crate) sockets: Sockets,
    pub(crate) groups: HashMap<String, Arc<StreamGroup>>,
    pub(crate) formats: Vec<Format>,
    pub(crate) names: StreamNames,
    pub(crate) resolvers: Vec<Arc<ResolverConfig>>,
    pub(crate) limits: Vec<(Box<str>, Arc<LimitCounts>)>,
    /// What relative paths start from.
    pub(crate) prefix: PathBuf,
    pub(crate) hostname: Box<[u8]>,
}

/// A server.
pub(crate) struct Server {
    pub settings: StreamSettings,
    /// Its first name (`$server_name`).
    pub name: Box<[u8]>,
    pub content: Content,
    /// How the peers of its group are checked; none without `health_check`.
    pub check: Option<StreamCheck>,
    /// How TLS is spoken with clients.
    pub tls: ServerTls,
    /// Certificates whose names contain variables; empty if none does.
    pub named: Vec<NamedPair>,
    /// What clients must prove; none where they are not asked.
    pub clients: Option<ClientRules>,
    /// TLS with peers (`proxy_ssl`).
    pub peer_tls: Option<PeerTls>,
    /// `allow` and `deny`: the first that covers the client decides.
    pub access: Box<[AccessRule]>,
    pub limits: Limits,
    /// `set`, in their order.
    pub assignments: Vec<(Arc<Variable>, Template)>,
    pub bind: Option<Template>,
    pub upload_rate: Template,
    pub download_rate: Template,
    /// The number of its resolver, and how long that is waited for, milliseconds.
    pub resolver: Option<(usize, u64)>,
    pub access_logs: Vec<AccessLog>,
    pub errors: ErrorLog,
    /// Where its sessions are counted; none without `status_zone`.
    pub traffic: Option<Arc<TrafficZone>>,
}

impl Server {
    /// Whether a proxy is believed about the client.
    pub(crate) fn trusts(&self, proxy: Option<std::net::IpAddr>) -> bool {
        self.settings.trusted.iter().any(|network: &Network| network.contains(proxy))
    }
}

/// How peers are spoken to by TLS.
pub(crate) struct PeerTls {
    pub config: Arc<ClientConfig>,
    /// `proxy_ssl_certificate`, if its name contains variables.
    pub certificate: Option<NamedPair>,
    /// What a peer must prove; none where anybody is believed.
    pub check: Option<Arc<dyn CheckPeer>>,
    /// Who a peer must be (`proxy_ssl_name`, else what `proxy_pass` names).
    pub name: Template,
    /// Tells settings apart.
    pub id: u64,
}

/// What a server does with a connection.
pub(crate) enum Content {
    /// Nothing: connections are closed, as by nginx.
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

/// A group of peers, and what `hash` chooses by.
pub(crate) struct StreamGroup {
    pub group: Group,
    pub key: Option<Template>,
}

impl StreamRuntime {
    /// What its limits have decided.
    pub fn limits(&self) -> &[(Box<str>, Arc<LimitCounts>)] {
        &self.limits
    }

    /// Where its sessions are counted, each zone once, in the order of the names.
    pub fn traffic_zones(&self) -> Vec<Arc<TrafficZone>> {
        let zones = self.servers.iter().filter_map(|server| server.traffic.as_ref());
        let by_name: BTreeMap<&str, _> = zones.map(|zone| (zone.name(), zone)).collect();
        by_name.into_values().cloned().collect()
    }

    /// What looks names up for it.
    pub fn resolvers(&self) -> &[Arc<ResolverConfig>] {
        &self.resolvers
    }

    /// Whether a socket, by its number, is one of UDP.
    pub fn is_datagram(&self, number: u32) -> bool {
        self.datagrams.contains(&number)
    }

    /// Has the names of groups looked up from now on, those of which no other worker does so; `tell` is told what fails.
    pub fn follow_names(&self, tell: &TellUnresolved) {
        for group in self.groups.values() {
            group.group.follow_names(tell);
        }
    }

    /// Its groups, for administrators.
    pub fn controls(&self) -> Vec<GroupControl> {
        self.groups.values().map(|group| group.group.control()).collect()
    }

    pub(crate) fn server(&self, id: ServerId) -> &Server {
        &self.servers[id as usize]
    }
}

/// A `stream` block as one worker runs it, from one reload to the next.
pub struct Streams {
    pub(crate) runtime: Arc<StreamRuntime>,
    pub(crate) worker: Rc<WorkerState>,
    /// What looks names up, by their number in the runtime.
    pub(crate) resolvers: Vec<Resolver>,
    /// Groups of addresses that a variable held, by that.
    pub(crate) addressed: RefCell<Lru<String, Arc<StreamGroup>>>,
}

impl Streams {
    /// A block that nobody has connected to yet.
    pub fn new(runtime: Arc<StreamRuntime>, worker: Rc<WorkerState>) -> Rc<Self> {
        let resolvers = runtime.resolvers.iter().map(|config| Resolver::new(Arc::clone(config))).collect();
        Rc::new(Self { runtime, worker, resolvers, addressed: RefCell::new(Lru::new(ADDRESSES)) })
    }
}
