//! Compiled `http` block: its servers, and everything else that workers need to process requests; its use by one worker.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use myriad_base::bounded::Lru;
use myriad_conf::settings::Http3Settings;
use myriad_log::{ErrorLog, LogFormat};
use myriad_net::{Connection, Http2Limits, PreRoutingLimits, Refusal};
use myriad_script::locations::Locations;
use myriad_script::{Frame, Program, Variable};
use myriad_store::DiskLimits;
use myriad_tls::ClientRules;
use myriad_upstream::{GroupControl, HttpPool, Resolver, ResolverConfig};

use super::{
    AcmePlan, ConfigPositions, Hosts, HttpsOnly, LimitZoneCounts, ListenerHosts, LoadInfo, NamedPair,
    Network, OriginGroup, Place, PlaceId, PlannedStaple, ServerId, ServerPurge, Shortcut, TrustedForwarders,
    VariableRef, VariableRegistry,
};
use crate::exchange::{Engine, Request};
use crate::pressure::Pressure;
use crate::traffic::{Traffic, TrafficSlots, TrafficZone};
use crate::worker::WorkerState;
use crate::worker_caches::{RefreshBudget, Shortcuts, UriCache};
use myriad_store::page::{PageZone, PurgePublisher};
use parking_lot::Mutex;

/// Maximum number of origins that a worker stores for targets with variables. The number is limited because clients may
/// influence the values; the least recently used origins are dropped.
const ADDRESSES: u64 = 1024;

/// Compiled configuration: everything that workers need to process requests.
pub struct Runtime {
    /// Folder against which relative paths of the configuration are resolved.
    pub prefix: PathBuf,
    /// Host name of the machine in lower case (`$hostname`).
    pub hostname: Box<[u8]>,
    /// `debug_connection`: clients whose requests are logged with all debug messages.
    pub debugged: Vec<Network>,
    /// Proxies that are trusted to report scheme and host of requests.
    pub forwarded: TrustedForwarders,
    /// Virtual servers of each listening socket, by listener number; `None` for sockets of `stream`.
    pub listeners: Vec<Option<ListenerHosts>>,
    /// Virtual servers, indexed by [`super::ServerId`].
    pub servers: Vec<VirtualServer>,
    /// Certificate issuers (ACME); `None` if there are none.
    pub acme: Option<Box<AcmePlan>>,
    /// OCSP responses that must be fetched and refreshed.
    pub staples: Vec<PlannedStaple>,
    /// Settings of servers, locations, `if` and `limit_except` blocks.
    pub places: Vec<Place>,
    /// All variables, to look up names that are known only at run time.
    pub variable_registry: &'static VariableRegistry<Request>,
    /// Variables that the configuration reads, indexed by their numbers in compiled scripts.
    pub variables: Vec<VariableRef<Request>>,
    /// True if the configuration reads `$sent_http_*`.
    pub reads_sent_fields: bool,
    /// Names of the origin's response fields that the configuration reads with `$upstream_http_*`, in lower case with
    /// dashes.
    pub origin_fields: Vec<Box<str>>,
    /// True if the configuration reads the TLS parameters offered by clients (such as `$ssl_ciphers`).
    pub reads_tls_offer: bool,
    /// True if the configuration reads `$request_body_file`, so that files of bodies need names.
    pub names_bodies: bool,
    /// Variables that SSI pages may name; `None` if no location has SSI.
    pub names: Option<HashMap<Box<str>, Arc<Variable>>>,
    /// Access log formats (`log_format`), indexed by the number in each access log.
    pub formats: Vec<LogFormat>,
    /// Parts of requests that the routing rules read; `None` if routing depends on anything else, so that no request
    /// may use the shortcut (reuse of an earlier request's routing).
    pub shortcut: Option<Shortcut>,
    /// Cache zones, by name.
    pub zones: HashMap<String, Arc<PageZone>>,
    /// Cache zones, indexed by [`super::CachePlace::zone_number`]; `None` for a zone that is not in [`Self::zones`].
    pub zone_list: Vec<Option<Arc<PageZone>>>,
    /// Node of the cluster to which the server belongs; `None` without `cluster`.
    pub cluster: Mutex<Option<Arc<dyn PurgePublisher>>>,
    /// Disk limits of the cache zones, by name.
    pub disk_limits: HashMap<String, DiskLimits>,
    /// Error log of `http`, to which the zones report errors.
    pub zone_log: ErrorLog,
    /// Groups of origins of the `http` block by name: each `upstream` block, and each constant address in a `*_pass`.
    pub groups: HashMap<String, Arc<OriginGroup>>,
    /// Groups of origins of the `stream` block, for status and administration.
    pub stream_groups: Vec<GroupControl>,
    /// Counts of the decisions of `limit_req` and `limit_conn`.
    pub limits: LimitZoneCounts,
    /// Resolver settings of the `stream` block.
    pub stream_resolvers: Vec<Arc<ResolverConfig>>,
    /// Number of the configuration, and time of its loading.
    pub loaded: LoadInfo,
    /// Resolver settings, from which each worker creates its resolvers.
    pub resolvers: Vec<Arc<ResolverConfig>>,
    /// Positions and texts of the configuration, for explanations.
    pub positions: ConfigPositions,
    /// Counters of all workers, traffic zones and queues.
    pub traffic: Arc<Traffic>,
    /// Memory pressure of the process.
    pub pressure: Arc<Pressure>,
    /// Traffic zones of servers and locations, ordered by kind and name, without duplicates.
    pub traffic_zones: Vec<Arc<TrafficZone>>,
}

/// Treatment of TLS handshakes for a server, as its settings determine it.
pub enum ServerTls {
    /// No certificate is configured: TLS clients get the certificate of the default server.
    None,
    /// `ssl_reject_handshake`: handshakes are rejected.
    Rejects,
    /// Handshakes are accepted with this configuration.
    Terminates(Arc<rustls::ServerConfig>),
}

/// Compiled `server` block.
pub struct VirtualServer {
    /// TLS settings (`ssl_*`) for clients that do not use HTTP/2.
    pub tls: ServerTls,
    /// TLS configuration (`ssl_*`) that offers HTTP/2; `None` if the server accepts no TLS handshakes, or if neither
    /// the server nor any `listen` enables HTTP/2.
    pub tls_http2: Option<Arc<rustls::ServerConfig>>,
    /// `http2`: true if clients of the server may use HTTP/2.
    pub http2: bool,
    /// Settings for HTTP/3 (`http3*`, `quic_*`).
    pub http3: Http3Settings,
    /// TLS configuration for QUIC; `None` if the server accepts no TLS handshakes, has no `listen ... quic`, or does
    /// not offer HTTP/3.
    pub tls_http3: Option<Arc<rustls::ServerConfig>>,
    /// `ssl_verify_client`: verification of client certificates; `None` if it is off.
    pub clients: Option<Arc<ClientRules>>,
    /// All certificates of the server, if the file name of at least one contains variables; otherwise empty.
    pub named: Vec<NamedPair>,
    /// Limits for HTTP/2 connections: `http2_max_concurrent_streams` and related directives.
    pub streams: Http2Limits,
    /// `https_only`: redirection of clients to https; `None` without the directive.
    pub https_only: Option<Box<HttpsOnly>>,
    /// Counters of the server's requests, named by `status_zone` or by its first `server_name`.
    pub traffic: Arc<TrafficZone>,
    /// First `server_name` as written, for `$server_name` and redirects; empty if the server has none.
    pub name: Box<[u8]>,
    /// Settings of the server level, for requests that have not entered a location.
    pub place: PlaceId,
    /// Rewrite directives of the server level.
    pub rewrite: Program,
    /// Settings of the `if` blocks in `rewrite`, by `IfId`; 0 for a block without settings.
    pub ifs: Box<[PlaceId]>,
    /// Locations of the server.
    pub locations: Locations,
    /// True if the location of a request depends only on its URI, so that it may be cached by URI.
    pub routes_by_uri: bool,
    /// Limits that apply until the location of a request is known: sizes of request heads, and timeouts.
    pub limits: PreRoutingLimits,
    /// True if a location creates tunnels (`tunnel_pass`), so that the method CONNECT is accepted over HTTP/1.1.
    pub tunnels: bool,
    /// `merge_slashes`: true if consecutive slashes in paths are merged into one.
    pub merge_slashes: bool,
    /// Zones that requests to any location of the server may purge.
    pub purges: Vec<ServerPurge>,
}

impl Runtime {
    /// Returns the settings of a server, a location, an `if` or a `limit_except` block.
    pub fn place(&self, id: PlaceId) -> &Place {
        &self.places[id as usize]
    }

    /// Returns true if the clients of a connection's listener use TLS.
    pub fn is_secure(&self, connection: &Connection) -> bool {
        let listener = self.listeners.get(connection.listener() as usize).and_then(Option::as_ref);
        listener.is_some_and(|listener| listener.secure)
    }

    /// Returns the server whose certificate a client gets, and its TLS configuration. `name` is the server name that
    /// the client sent in the handshake. Returns `None` if the client must be rejected.
    pub fn tls(
        &self,
        connection: &Connection,
        name: Option<&str>,
    ) -> Option<(ServerId, Arc<rustls::ServerConfig>)> {
        let hosts = self.hosts(connection)?;
        let chosen = named(hosts, name).unwrap_or(hosts.default);
        let is_bare = matches!(self.server(chosen).tls, ServerTls::None);
        let speaker = if is_bare { hosts.default } else { chosen };
        let VirtualServer { tls, tls_http2, .. } = self.server(speaker);
        let config = match (tls, tls_http2) {
            (ServerTls::Terminates(_), Some(config)) if hosts.http2 || self.server(chosen).http2 => config,
            (ServerTls::Terminates(config), _) => config,
            (ServerTls::None | ServerTls::Rejects, _) => return None,
        };
        Some((speaker, Arc::clone(config)))
    }

    /// Returns the stream limits of the server that the client named in the TLS handshake, or of the default server;
    /// `None` if the address of the connection has no servers, or if the connection has no TLS and its server does not
    /// permit HTTP/2. Over TLS, always returns limits: the handshake has already negotiated the protocol.
    pub fn http2(&self, connection: &Connection) -> Option<Http2Limits> {
        let hosts = self.hosts(connection)?;
        let meant = connection.tls().and_then(|facts| named(hosts, facts.server_name.as_deref()));
        let server = self.server(meant.unwrap_or(hosts.default));
        // If TLS is used, HTTP/2 has been negotiated already.
        (hosts.http2 || server.http2 || connection.tls().is_some()).then_some(server.streams)
    }

    /// Returns the server that a client named in the TLS handshake, otherwise the default server of its listener;
    /// `None` if the listener has no servers.
    pub fn server_of(&self, connection: &Connection) -> Option<ServerId> {
        let hosts = self.hosts(connection)?;
        let meant = connection.tls().and_then(|facts| named(hosts, facts.server_name.as_deref()));
        Some(meant.unwrap_or(hosts.default))
    }

    /// Returns the listener with a number; `None` if its clients do not use QUIC.
    pub fn quic_listener(&self, number: u32) -> Option<&ListenerHosts> {
        self.listeners.get(number as usize)?.as_ref().filter(|listener| listener.quic)
    }

    /// Returns the server for a client of a QUIC listener that sent the server name `name`, and its TLS configuration
    /// for QUIC. The error is the reason to reject the handshake.
    pub fn tls_http3(
        &self,
        listener: u32,
        local: Option<SocketAddr>,
        name: Option<&str>,
    ) -> Result<(ServerId, Arc<rustls::ServerConfig>), Refusal> {
        let listener = self.quic_listener(listener).ok_or(Refusal::NoApplicationProtocol)?;
        let hosts = listener.hosts_at(|| local).ok_or(Refusal::NoApplicationProtocol)?;
        let mut speaker = named(hosts, name).unwrap_or(hosts.default);
        if matches!(self.server(speaker).tls, ServerTls::None) {
            speaker = hosts.default;
        }
        let server = self.server(speaker);
        if matches!(server.tls, ServerTls::Rejects) {
            return Err(Refusal::UnrecognizedName);
        }
        let config = server.tls_http3.clone().ok_or(Refusal::NoApplicationProtocol)?;
        Ok((speaker, config))
    }

    /// Returns the servers of the address that the client of a connection connected to; `None` if it has no servers.
    pub fn hosts(&self, connection: &Connection) -> Option<&Hosts> {
        self.listeners.get(connection.listener() as usize)?.as_ref()?.hosts(connection)
    }

    /// Returns the group of origins with exactly this name; `None` for another name.
    pub fn group(&self, name: &str) -> Option<Arc<OriginGroup>> {
        self.groups.get(name).cloned()
    }

    /// Returns the group of origins whose name equals `host`, preferably in the same case, otherwise ignoring case;
    /// `None` if there is none.
    pub fn upstream(&self, host: &str) -> Option<Arc<OriginGroup>> {
        let other =
            || self.groups.iter().find(|(name, _)| name.eq_ignore_ascii_case(host)).map(|(_, group)| group);
        self.groups.get(host).or_else(other).cloned()
    }

    /// Returns the virtual server with an identifier.
    pub fn server(&self, id: ServerId) -> &VirtualServer {
        &self.servers[id as usize]
    }
}

/// Returns the server with a name that a client sent in the TLS handshake; `None` if it sent none or no server matches.
fn named(hosts: &Hosts, name: Option<&str>) -> Option<ServerId> {
    let host = name?.trim_end_matches('.').to_ascii_lowercase();
    hosts.names.find(host.as_bytes(), &mut Frame::default()).ok().flatten()
}

/// Compiled configuration in use by a worker, with the resources that belong to it. A reload creates a new generation;
/// requests in progress continue with the old one.
pub struct Generation {
    /// Compiled configuration, shared with the other workers.
    pub runtime: Arc<Runtime>,
    /// Engine that runs the phases of subrequests.
    pub engine: &'static dyn Engine,
    /// State of the worker thread that uses the configuration; it survives reloads.
    pub worker: Rc<WorkerState>,
    /// Routing results of earlier requests of this worker, which similar requests reuse.
    pub shortcuts: Shortcuts,
    /// Budget for refreshing pages in the background before they expire.
    pub refresh_budget: RefreshBudget,
    /// Cache of this worker, by URI: matching locations, and results of `try_files`.
    pub memo: UriCache,
    /// Connections with origins for reuse: idle ones of HTTP/1 and memcached, and all of HTTP/2.
    pub pool: HttpPool,
    /// Resolvers, by their index in [`Runtime::resolvers`].
    pub resolvers: Vec<Resolver>,
    /// Origins of targets with variables, by evaluated address.
    pub address_groups: RefCell<Lru<String, Arc<OriginGroup>>>,
    /// Traffic counters by key that requests of this generation use, by slot number.
    pub traffic: TrafficSlots,
}

impl Generation {
    /// Creates a generation with empty caches and pools.
    pub fn new(runtime: Arc<Runtime>, worker: Rc<WorkerState>, engine: &'static dyn Engine) -> Self {
        let resolvers = runtime.resolvers.iter().map(|config| Resolver::new(Arc::clone(config)));
        Self {
            resolvers: resolvers.collect(),
            runtime,
            engine,
            pool: HttpPool::of(worker.origins.clone()),
            worker,
            memo: UriCache::default(),
            shortcuts: Shortcuts::default(),
            refresh_budget: RefreshBudget::default(),
            address_groups: RefCell::new(Lru::new(ADDRESSES)),
            traffic: TrafficSlots::default(),
        }
    }
}
