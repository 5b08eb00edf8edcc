//! Compiled configuration of a site, and its servers.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use myriad_conf::settings::Http3Settings;
use myriad_log::{ErrorLog, LogFormat};
use myriad_net::{Connection, Http2Limits, PreRoutingLimits, Refusal};
use myriad_script::locations::Locations;
use myriad_script::{Frame, Program, Variable};
use myriad_store::DiskLimits;
use myriad_tls::ClientRules;
use myriad_upstream::{GroupControl, ResolverConfig};

use super::{
    AcmePlan, ConfigPositions, Hosts, HttpsOnly, LimitZoneCounts, ListenerHosts, LoadInfo, NamedPair,
    Network, OriginGroup, Place, PlaceId, PlannedStaple, ServerId, ServerPurge, Shortcut, TrustedForwarders,
    VariableRef, VariableRegistry,
};
use crate::exchange::Request;
use crate::pressure::Pressure;
use crate::traffic::{Traffic, TrafficZone};
use myriad_store::page::PageZone;

/// Compiled configuration, complete for processing requests.
pub struct Runtime {
    /// Folder against which relative paths of the configuration are resolved.
    pub prefix: PathBuf,
    /// Host name of the machine (`$hostname`).
    pub hostname: Box<[u8]>,
    /// `debug_connection`.
    pub debugged: Vec<Network>,
    /// Proxies that are trusted to report the scheme and the host of a request.
    pub forwarded: TrustedForwarders,
    /// Virtual servers, by listener number.
    pub listeners: Vec<Option<ListenerHosts>>,
    /// Virtual servers.
    pub servers: Vec<VirtualServer>,
    /// Automatically renewed certificates; `None` without issuers.
    pub acme: Option<Box<AcmePlan>>,
    /// OCSP responses that are refreshed.
    pub staples: Vec<PlannedStaple>,
    /// Compiled servers, locations and `if` blocks.
    pub places: Vec<Place>,
    /// All variables, for names that are known only at run time.
    pub variable_registry: &'static VariableRegistry<Request>,
    /// Variables that compiled scripts read, by their number in scripts.
    pub variables: Vec<VariableRef<Request>>,
    /// True if a script reads `$sent_http_*`.
    pub reads_sent_fields: bool,
    /// Origin fields that scripts read by `$upstream_http_*`, in lower case, with dashes.
    pub origin_fields: Vec<Box<str>>,
    /// True if a script reads the TLS parameters that clients offer.
    pub reads_tls_offer: bool,
    /// True if a script reads `$request_body_file`, so that bodies in files need names.
    pub names_bodies: bool,
    /// Variables that SSI pages may name; `None` if no place has SSI.
    pub names: Option<HashMap<Box<str>, Arc<Variable>>>,
    /// Access log formats.
    pub formats: Vec<LogFormat>,
    /// Inputs of the rules, if they determine the result.
    pub shortcut: Option<Shortcut>,
    /// Cache zones, by name.
    pub zones: HashMap<String, Arc<PageZone>>,
    /// Cache zones, indexed by [`super::CachePlace::zone_number`].
    pub zone_list: Vec<Option<Arc<PageZone>>>,
    /// Disk limits of the zones.
    pub disk_limits: HashMap<String, DiskLimits>,
    /// Error log of `http`, to which the zones report errors.
    pub zone_log: ErrorLog,
    /// Origin groups by name, for targets with variables.
    pub groups: HashMap<String, Arc<OriginGroup>>,
    /// Groups of the `stream` block, for administrators.
    pub stream_groups: Vec<GroupControl>,
    /// Decisions of limits.
    pub limits: LimitZoneCounts,
    /// Resolvers of `stream`.
    pub stream_resolvers: Vec<Arc<ResolverConfig>>,
    /// Load time of the configuration.
    pub loaded: LoadInfo,
    /// Resolver settings, from which each worker creates its resolvers.
    pub resolvers: Vec<Arc<ResolverConfig>>,
    /// Names for explanations.
    pub positions: ConfigPositions,
    /// Counters of its workers.
    pub traffic: Arc<Traffic>,
    /// Memory pressure of the process.
    pub pressure: Arc<Pressure>,
    /// Traffic zones of servers and locations without duplicates, ordered by kind and name.
    pub traffic_zones: Vec<Arc<TrafficZone>>,
}

/// TLS of a server.
pub enum ServerTls {
    /// Not configured: TLS clients get the default server's certificate.
    None,
    /// `ssl_reject_handshake`.
    Rejects,
    /// TLS with these certificates and cipher suites.
    Terminates(Arc<rustls::ServerConfig>),
}

/// A `server` block.
pub struct VirtualServer {
    /// `ssl_*`.
    pub tls: ServerTls,
    /// The same settings with HTTP/2 among the protocols; `None` if it is never used.
    pub tls_http2: Option<Arc<rustls::ServerConfig>>,
    /// `http2`.
    pub http2: bool,
    /// `http3*`, `quic_*`.
    pub http3: Http3Settings,
    /// TLS settings for QUIC; `None` if the server has no `listen ... quic` or does not support HTTP/3.
    pub tls_http3: Option<Arc<rustls::ServerConfig>>,
    /// `ssl_verify_client`.
    pub clients: Option<Arc<ClientRules>>,
    /// Certificates whose names contain variables; empty if all names are constant.
    pub named: Vec<NamedPair>,
    /// Limits of concurrent HTTP/2 streams.
    pub streams: Http2Limits,
    /// `https_only`.
    pub https_only: Option<Box<HttpsOnly>>,
    /// Traffic zone of its requests: its `status_zone`, or its first name.
    pub traffic: Arc<TrafficZone>,
    /// First name as written, for `$server_name` and redirects.
    pub name: Box<[u8]>,
    /// Settings of the server, for requests that reach no location.
    pub place: PlaceId,
    /// Rewrite directives of the server.
    pub rewrite: Program,
    /// Places of the `if` blocks in `rewrite`, by `IfId`.
    pub ifs: Box<[PlaceId]>,
    /// Locations.
    pub locations: Locations,
    /// True if the location of a URI may be cached.
    pub routes_by_uri: bool,
    /// Limits of request heads on its connections.
    pub limits: PreRoutingLimits,
    /// True if a place creates tunnels (`tunnel_pass`), so that CONNECT is admitted.
    pub tunnels: bool,
    /// `merge_slashes`.
    pub merge_slashes: bool,
    /// Zones in which requests may purge, from all its places.
    pub purges: Vec<ServerPurge>,
}

impl Runtime {
    /// Returns a place.
    pub fn place(&self, id: PlaceId) -> &Place {
        &self.places[id as usize]
    }

    /// Returns whether the clients of a connection's listener use TLS.
    pub fn is_secure(&self, connection: &Connection) -> bool {
        let listener = self.listeners.get(connection.listener() as usize).and_then(Option::as_ref);
        listener.is_some_and(|listener| listener.secure)
    }

    /// Returns the server whose certificate a client gets, with its TLS settings; `None` rejects the client.
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

    /// Returns the stream limits if a connection may use HTTP/2, according to the default server or the server that the
    /// client named by TLS.
    pub fn http2(&self, connection: &Connection) -> Option<Http2Limits> {
        let hosts = self.hosts(connection)?;
        let meant = connection.tls().and_then(|facts| named(hosts, facts.server_name.as_deref()));
        let server = self.server(meant.unwrap_or(hosts.default));
        // A protocol negotiated by TLS is binding.
        (hosts.http2 || server.http2 || connection.tls().is_some()).then_some(server.streams)
    }

    /// Returns the server that a client named by TLS, otherwise the default server of its listener.
    pub fn server_of(&self, connection: &Connection) -> Option<ServerId> {
        let hosts = self.hosts(connection)?;
        let meant = connection.tls().and_then(|facts| named(hosts, facts.server_name.as_deref()));
        Some(meant.unwrap_or(hosts.default))
    }

    /// Returns the listener of that number, if its clients use QUIC.
    pub fn quic_listener(&self, number: u32) -> Option<&ListenerHosts> {
        self.listeners.get(number as usize)?.as_ref().filter(|listener| listener.quic)
    }

    /// Returns the TLS settings for QUIC of the server that a client names at a QUIC listener.
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

    /// Returns the servers of a connection's address.
    pub fn hosts(&self, connection: &Connection) -> Option<&Hosts> {
        self.listeners.get(connection.listener() as usize)?.as_ref()?.hosts(connection)
    }

    /// Returns an origin group by name.
    pub fn group(&self, name: &str) -> Option<Arc<OriginGroup>> {
        self.groups.get(name).cloned()
    }

    /// Returns the group whose name is the host, in lower case.
    pub fn upstream(&self, host: &str) -> Option<Arc<OriginGroup>> {
        let other =
            || self.groups.iter().find(|(name, _)| name.eq_ignore_ascii_case(host)).map(|(_, group)| group);
        self.groups.get(host).or_else(other).cloned()
    }

    /// Returns a server.
    pub fn server(&self, id: ServerId) -> &VirtualServer {
        &self.servers[id as usize]
    }
}

/// Returns the server of a name that a client sent by TLS.
fn named(hosts: &Hosts, name: Option<&str>) -> Option<ServerId> {
    let host = name?.trim_end_matches('.').to_ascii_lowercase();
    hosts.names.find(host.as_bytes(), &mut Frame::default()).ok().flatten()
}
