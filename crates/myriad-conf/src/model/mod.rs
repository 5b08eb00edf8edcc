//! Configuration model that the server compiles: typed, with inheritance and defaults applied.

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
    ConditionConf, FileTest, IfBlock, LimitExcept, LocationConf, MakeFunction, Matcher, RewriteFlag,
    RewriteStep, StringTest,
};
pub use main_conf::{ControlSocket, HistoryFile, MainConf, MemoryLimit, WorkerProcesses};
pub use server::{KeepAliveProbe, ListenAddress, ListenConf, ServerConf, ServerName};
pub use sticky::{Sticky, StickyCookie, StickyExpiry, StickyLearn};
pub use upstream::{
    Balance, LeastMeasure, MeasuredUntil, UpstreamAddress, UpstreamConf, UpstreamQueue, UpstreamServer,
};
pub use zone::CacheZoneConf;

use crate::{diagnostic::Diagnostic, settings::Settings};

/// Complete and valid configuration, the result of [`build`](crate::build).
#[derive(Clone, Debug)]
pub struct Model {
    /// Directives outside `http`.
    pub main: MainConf,
    /// The `http` block; `None` if the configuration has none.
    pub http: Option<HttpConf>,
    /// The `stream` block; `None` if the configuration has none. It has the same type as `http`, with its own servers
    /// (without locations), variables, upstream groups and log formats.
    pub stream: Option<HttpConf>,
    /// Warnings and hints about the configuration. Warnings are shown at start and by `-t`, hints only by `-t`.
    pub warnings: Vec<Diagnostic>,
}

impl Model {
    /// Iterates over the `http` block and the `stream` block, if they exist.
    pub fn blocks(&self) -> impl Iterator<Item = &HttpConf> {
        self.http.iter().chain(&self.stream)
    }

    /// Iterates over the servers of `http` and `stream`.
    pub fn servers(&self) -> impl Iterator<Item = &ServerConf> {
        self.blocks().flat_map(|block| &block.servers)
    }
}

/// Content of the `http` block or the `stream` block.
#[derive(Clone, Debug)]
pub struct HttpConf {
    /// Settings that servers inherit.
    pub settings: Settings,
    /// `server` blocks, in source order.
    pub servers: Vec<ServerConf>,
    /// Cache zones: `fastcgi_cache_path`, `proxy_cache_path` and the same directive of other protocols.
    pub cache_zones: Vec<CacheZoneConf>,
    /// `acme_issuer` blocks.
    pub acme_issuers: Vec<AcmeIssuerConf>,
    /// `map` blocks.
    pub maps: Vec<MapConf>,
    /// `geo` blocks.
    pub geos: Vec<GeoConf>,
    /// `split_clients` blocks.
    pub split_clients: Vec<SplitClientsConf>,
    /// Rewrite directives directly in `http`. They declare variables, but are never executed.
    pub idle_steps: Vec<RewriteStep>,
    /// `upstream` blocks.
    pub upstreams: Vec<UpstreamConf>,
    /// `log_format` directives; in `http`, the built-in `combined` is first.
    pub log_formats: Vec<LogFormat>,
}
