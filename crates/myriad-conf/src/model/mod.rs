//! The configuration as the server runs it: typed, inherited, fully resolved.

mod acme;
mod blocks;
mod levels;
mod lines;
mod location;
mod main_conf;
mod server;
mod sticky;
mod upstream;
mod zone;

pub use acme::{
    AccountKeyConf, AcmeCertificateConf, AcmeChallenge, AcmeIdentifier, AcmeIssuerConf, AcmeKeyKind,
    ExternalAccountConf,
};
pub use blocks::{
    GeoConf, GeoEntry, LogEscape, LogFormat, MapConf, MapEntry, MapKey, SplitClientsConf, SplitShare,
};
pub use location::{
    Condition, FileTest, IfBlock, LimitExcept, LocationConf, MakeFunction, Matcher, RewriteFlag, RewriteStep,
    StringTest,
};
pub use main_conf::{ControlSocket, HistoryFile, MainConf, MemoryLimit, WorkerProcesses};
pub use server::{KeepAliveProbe, ListenAddress, ListenConf, ServerConf, ServerName};
pub use sticky::{Sticky, StickyCookie, StickyExpiry, StickyLearn};
pub use upstream::{Balance, Least, Moment, UpstreamAddress, UpstreamConf, UpstreamQueue, UpstreamServer};
pub use zone::CacheZoneConf;

use crate::{diagnostic::Diagnostic, settings::Settings};

/// A whole configuration that was found sound.
#[derive(Clone, Debug)]
pub struct Model {
    /// What stands outside `http`.
    pub main: MainConf,
    /// The `http` block, if there is one.
    pub http: Option<HttpConf>,
    /// The `stream` block, if there is one. It has the parts of `http`: servers, without locations, and blocks of variables, groups
    /// and formats that are its own.
    pub stream: Option<HttpConf>,
    /// What was found odd but not wrong; to be shown at start and by `-t`.
    pub warnings: Vec<Diagnostic>,
}

impl Model {
    /// `http` and `stream`, as far as they are there.
    pub fn blocks(&self) -> impl Iterator<Item = &HttpConf> {
        self.http.iter().chain(&self.stream)
    }

    /// The servers of `http` and `stream`.
    pub fn servers(&self) -> impl Iterator<Item = &ServerConf> {
        self.blocks().flat_map(|block| &block.servers)
    }
}

/// The `http` block, or the `stream` block.
#[derive(Clone, Debug)]
pub struct HttpConf {
    /// The settings that servers inherit.
    pub settings: Settings,
    /// `server` blocks, in source order.
    pub servers: Vec<ServerConf>,
    /// `fastcgi_cache_path` and `proxy_cache_path`.
    pub cache_zones: Vec<CacheZoneConf>,
    /// `acme_issuer` blocks.
    pub acme_issuers: Vec<AcmeIssuerConf>,
    /// `map` blocks.
    pub maps: Vec<MapConf>,
    /// `geo` blocks.
    pub geos: Vec<GeoConf>,
    /// `split_clients` blocks.
    pub split_clients: Vec<SplitClientsConf>,
    /// Directives that give variables values, in `http` itself, where they declare their variable and never run.
    pub idle_steps: Vec<RewriteStep>,
    /// `upstream` blocks.
    pub upstreams: Vec<UpstreamConf>,
    /// `log_format`, with the built-in `combined` first.
    pub log_formats: Vec<LogFormat>,
}
