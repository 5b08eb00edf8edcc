//! The whole site, and its servers.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use myriad_conf::settings::Http3Settings;
use myriad_log::{ErrorLog, Format};
use myriad_net::{Connection, Limits, Refusal, StreamLimits};
use myriad_script::locations::Locations;
use myriad_script::{Frame, Program, Variable};
use myriad_store::DiskLimits;
use myriad_tls::ClientRules;
use myriad_upstream::{GroupControl, ResolverConfig};

use super::{
    AcmePlan, Atlas, Forwarded, Hosts, HttpsOnly, LimitZoneCounts, Listener, Loaded, NamedPair, Network,
    OriginGroup, Place, PlaceId, PlannedStaple, ServerId, ServerPurge, Shortcut, VariableRef,
    VariableRegistry,
};
use crate::exchange::Request;
use crate::pressure::Pressure;
use crate::traffic::{Traffic, TrafficZone};
use myriad_page::PageZone;

/// Everything that a request needs to know of the site.
pub struct Runtime {
    /// Folder that relative paths of the configuration start from.
    pub prefix: PathBuf,
    /// The machine's name (`$hostname`).
    pub hostname: Box<[u8]>,
    /// `debug_connection`.
    pub debugged: Vec<Network>,
    /// Proxies that are trusted to report the scheme and the host of a request.
    pub forwarded: Forwarded,
    /// Virtual servers by listener number.
    pub listeners: Vec<Option<Listener>>,
    /// Virtual servers.
    pub servers: Vec<Server>,
    /// Certificates that renew themselves; none where no issuer is written.
    pub acme: Option<Box<AcmePlan>>,
    /// OCSP answers that are kept fresh.
    pub staples: Vec<PlannedStaple>,
    /// Servers, locations and ifs, resolved.
    pub places: Vec<Place>,
    /// Every variable that there is, for names that are known only when a request is answered.
    pub variable_registry: &'static VariableRegistry<Request>,
    /// The variables that compiled scripts read, by the number they have there.
    pub variables: Vec<VariableRef<Request>>,
    /// Whether any script reads `$sent_http_*`.
    pub reads_sent_fields: bool,
    /// The fields of origins that any script reads by `$upstream_http_*`, in lower case, with dashes.
    pub origin_fields: Vec<Box<str>>,
    /// Whether what clients offer by TLS is read anywhere.
    pub keeps_offers: bool,
    /// Whether `$request_body_file` is read anywhere, so that bodies in files need names.
    pub names_bodies: bool,
    /// What pages with SSI may name; none where no place has SSI.
    pub names: Option<HashMap<Box<str>, Arc<Variable>>>,
    /// Access-log formats.
    pub formats: Vec<Format>,
    /// What the rules read of a request, where that decides what they come to.
    pub shortcut: Option<Shortcut>,
    /// Cache zones by name.
    pub zones: HashMap<String, Arc<PageZone>>,
    /// The same in the order of [`super::CachePlace::zone_number`].
    pub zone_list: Vec<Option<Arc<PageZone>>>,
    /// What the zones may take of the disk.
    pub disk_limits: HashMap<String, DiskLimits>,
    /// Where the zones tell of trouble: the error log of `http`.
    pub zone_log: ErrorLog,
    /// Origin groups by name, for targets that variables name.
    pub groups: HashMap<String, Arc<OriginGroup>>,
    /// Groups of the `stream` block, for administrators.
    pub stream_groups: Vec<GroupControl>,
    /// What limits have decided.
    pub limits: LimitZoneCounts,
    /// What looks names up for `stream`.
    pub stream_resolvers: Vec<Arc<ResolverConfig>>,
    /// When the configuration was loaded.
    pub loaded: Loaded,
    /// Resolvers; each worker makes its own of them.
    pub resolvers: Vec<Arc<ResolverConfig>>,
    /// Names for explanations.
    pub atlas: Atlas,
    /// What its workers have counted.
    pub traffic: Arc<Traffic>,
    /// How much memory the process lacks.
    pub pressure: Arc<Pressure>,
    /// The traffic zones of its servers and locations, each once, in the order of kinds and names.
    pub traffic_zones: Vec<Arc<TrafficZone>>,
}

/// How a server speaks TLS.
pub enum ServerTls {
    /// Not at all: a client that asks for it gets the default server's certificate.
    None,
    /// `ssl_reject_handshake`.
    Rejects,
    /// With these certificates and suites.
    Speaks(Arc<rustls::ServerConfig>),
}

/// A `server` block.
pub struct Server {
    /// `ssl_*`.
    pub tls: ServerTls,
    /// The same, with HTTP/2 among the protocols; none where it is never spoken.
    pub tls_http2: Option<Arc<rustls::ServerConfig>>,
    /// `http2`.
    pub http2: bool,
    /// `http3*`, `quic_*`.
    pub http3: Http3Settings,
    /// The settings of TLS over QUIC; none where no `listen` of the server says `quic`, or it does not speak HTTP/3.
    pub tls_http3: Option<Arc<rustls::ServerConfig>>,
    /// `ssl_verify_client`.
    pub clients: Option<Arc<ClientRules>>,
    /// Certificates that variables name; empty where all are known.
    pub named: Vec<NamedPair>,
    /// What clients of HTTP/2 may ask for at once.
    pub streams: StreamLimits,
    /// `https_only`.
    pub https_only: Option<Box<HttpsOnly>>,
    /// Where its requests are counted: its `status_zone`, or its first name.
    pub traffic: Arc<TrafficZone>,
    /// The first name as written, for `$server_name` and redirects.
    pub name: Box<[u8]>,
    /// Its own settings, for requests that reach no location.
    pub place: PlaceId,
    /// Its rewrite directives.
    pub rewrite: Program,
    /// Places of the `if` blocks in `rewrite`, by `IfId`.
    pub ifs: Box<[PlaceId]>,
    /// Its locations.
    pub locations: Locations,
    /// Whether the location of a URI may be remembered.
    pub routes_by_uri: bool,
    /// How heads are read on its connections.
    pub limits: Limits,
    /// Whether any of its places connects clients (`tunnel_pass`), so that CONNECT is let in.
    pub tunnels: bool,
    /// `merge_slashes`.
    pub merge_slashes: bool,
    /// What requests may purge in any of its places.
    pub purges: Vec<ServerPurge>,
}

impl Runtime {
    /// A place.
    pub fn place(&self, id: PlaceId) -> &Place {
        &self.places[id as usize]
    }

    /// Whether the clients of a connection's listener speak TLS.
    pub fn is_secure(&self, connection: &Connection) -> bool {
        let listener = self.listeners.get(connection.listener() as usize).and_then(Option::as_ref);
        listener.is_some_and(|listener| listener.secure)
    }

    /// The server whose certificate a client gets, and how it speaks TLS; none refuses the client.
    pub fn tls(
        &self,
        connection: &Connection,
        name: Option<&str>,
    ) -> Option<(ServerId, Arc<rustls::ServerConfig>)> {
        let hosts = self.hosts(connection)?;
        let chosen = named(hosts, name).unwrap_or(hosts.default);
        let is_bare = matches!(self.server(chosen).tls, ServerTls::None);
        let speaker = if is_bare { hosts.default } else { chosen };
        let Server { tls, tls_http2, .. } = self.server(speaker);
        let config = match (tls, tls_http2) {
            (ServerTls::Speaks(_), Some(config)) if hosts.http2 || self.server(chosen).http2 => config,
            (ServerTls::Speaks(config), _) => config,
            (ServerTls::None | ServerTls::Rejects, _) => return None,
        };
        Some((speaker, Arc::clone(config)))
    }

    /// Whether HTTP/2 is spoken on a connection by the default server, or the one that the client has named by TLS; and
    /// how much may be asked at once.
    pub fn http2(&self, connection: &Connection) -> Option<StreamLimits> {
        let hosts = self.hosts(connection)?;
        let meant = connection.tls().and_then(|facts| named(hosts, facts.server_name.as_deref()));
        let server = self.server(meant.unwrap_or(hosts.default));
        // What was agreed on by TLS holds.
        (hosts.http2 || server.http2 || connection.tls().is_some()).then_some(server.streams)
    }

    /// The server that a client has named by TLS, else the default one of its listener.
    pub fn server_of(&self, connection: &Connection) -> Option<ServerId> {
        let hosts = self.hosts(connection)?;
        let meant = connection.tls().and_then(|facts| named(hosts, facts.server_name.as_deref()));
        Some(meant.unwrap_or(hosts.default))
    }

    /// The listener of that number, if its clients speak QUIC.
    pub fn quic_listener(&self, number: u32) -> Option<&Listener> {
        self.listeners.get(number as usize)?.as_ref().filter(|listener| listener.quic)
    }

    /// How the server speaks TLS over QUIC that a client names at a listener for it.
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

    /// The servers that a connection may mean.
    pub fn hosts(&self, connection: &Connection) -> Option<&Hosts> {
        self.listeners.get(connection.listener() as usize)?.as_ref()?.hosts(connection)
    }

    /// An origin group by name.
    pub fn group(&self, name: &str) -> Option<Arc<OriginGroup>> {
        self.groups.get(name).cloned()
    }

    /// The group whose name is that host, in lower case.
    pub fn upstream(&self, host: &str) -> Option<Arc<OriginGroup>> {
        let other =
            || self.groups.iter().find(|(name, _)| name.eq_ignore_ascii_case(host)).map(|(_, group)| group);
        self.groups.get(host).or_else(other).cloned()
    }

    /// A server.
    pub fn server(&self, id: ServerId) -> &Server {
        &self.servers[id as usize]
    }
}

/// The server of a name that a client has asked for by TLS.
fn named(hosts: &Hosts, name: Option<&str>) -> Option<ServerId> {
    let host = name?.trim_end_matches('.').to_ascii_lowercase();
    hosts.names.find(host.as_bytes(), &mut Frame::default()).ok().flatten()
}
