//! Settings that hold per `http`, `server`, `location` or `if`, resolved: defaults filled in, inheritance done.
//!
//! Sizes are bytes, times milliseconds, rates bytes per second. Each level starts as a copy of the level around it and
//! its own directives are laid over; lists such as `add_header` start anew at a level that names one.

mod access;
mod autoindex;
mod cache;
mod client;
mod content;
mod encoding;
mod error_log;
mod filters;
mod headers;
mod http2;
mod http3;
mod https_only;
mod limits;
mod log;
mod openssl;
mod origin;
mod origin_tls;
mod protocol;
mod realip;
mod referers;
mod resolver;
mod shared_fetch;
mod ssi;
mod syslog;
mod tls;

pub use access::{AccessRule, AccessSettings, AuthRequestSet, Network, Satisfy};
pub use autoindex::{AutoindexFormat, AutoindexSettings};
pub use cache::{
    CacheDebug, CacheInvalidate, CacheMethods, CacheRules, CacheSettings, CacheStatus, CacheValid, CacheZone,
    PersonalCookies, PurgeCondition, PurgeSettings, PurgeStyle, StaleTimes, StaleWhen,
};
pub use client::{BodyInFile, ClientSettings, LargeBuffers, Lingering, MinRate, TempPath};
pub use content::{
    ContentSettings, DisableSymlinks, ErrorPage, ErrorPageCode, IfModifiedSince, OpenFileCache,
    OpenFileSettings, ServerTokens, TryFiles, TryFilesEnd, Types,
};
pub use encoding::{
    BrotliSettings, EncodingSettings, GzipDisable, GzipSettings, Proxied, StaticMode, ZstdSettings,
};
pub use error_log::{ErrorLog, LogLevel};
pub use filters::{FilterSettings, SubFilter};
pub use headers::{AddHeader, AddedFields, Expires, HeaderSettings, InheritFields};
pub use http2::Http2Settings;
pub use http3::Http3Settings;
pub use https_only::HttpsOnly;
pub use limits::{ConnectionLimit, LimitAnswer, LimitSettings, RequestLimit};
pub use log::{AccessLog, LogSettings, OpenLogFileCache};
pub use origin::{
    AcceleratorHeaders, Buffers, CookieFlags, HttpVersion, IgnoreHeaders, NextUpstream, OriginSettings,
    Parameter, Redirect,
};
pub use origin_tls::OriginTlsSettings;
pub use resolver::ResolverSettings;
pub use shared_fetch::{KeyedInput, SharedFetchSettings};
pub use ssi::SsiSettings;
pub use syslog::{SyslogConf, SyslogServer};
pub use tls::{CertificateCache, SessionCache, TlsSettings, VerifyClient};

pub use protocol::Protocol;
pub use realip::{RealIpFrom, RealIpSettings, RealIpSource};
pub use referers::RefererSettings;

use crate::text::Text;

/// What makes the content of a location when nothing earlier has answered; without one, static files do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handler {
    /// `stub_status`.
    StubStatus,
    /// `api`.
    Api {
        /// `write=on`.
        write: bool,
        /// The prefix that the location matches by; empty where there is none.
        prefix: Text,
    },
    /// `fastcgi_cache_purge ZONE KEY`, `proxy_cache_purge ZONE KEY`.
    Purge {
        /// The zone's name.
        zone: Text,
        /// The key, or path and query; may hold variables.
        text: Text,
        /// `ZONE url TARGET`: the text is a path and query.
        by_url: bool,
    },
    /// `fastcgi_pass` or `proxy_pass`; the details are in [`Settings::origin`] of that protocol.
    Origin {
        /// Which family the directive belongs to.
        protocol: Protocol,
        /// The directive's argument: an address, a group's name, an URL; may hold variables.
        target: Text,
        /// The prefix that the location matches by, which the path of an URL takes the place of; empty where there is
        /// none, as in regex and named locations.
        prefix: Text,
    },
}

/// Everything that a request needs to know of the level that serves it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What makes the content; not inherited by nested locations, only by `if` and `limit_except`, as in nginx.
    pub handler: Option<Handler>,
    /// Reading from and writing to the client.
    pub client: ClientSettings,
    /// Files, types, error pages.
    pub content: ContentSettings,
    /// `allow`, `deny`, `satisfy`.
    pub access: AccessSettings,
    /// `limit_req*`, `limit_conn*`.
    pub limits: LimitSettings,
    /// `set_real_ip_from`, `real_ip_header`, `real_ip_recursive`.
    pub real_ip: RealIpSettings,
    /// `valid_referers`.
    pub referers: RefererSettings,
    /// `add_header`, `add_trailer`, `expires`.
    pub headers: HeaderSettings,
    /// Access log, error log.
    pub log: LogSettings,
    /// `gzip*`, `brotli*`, `zstd*`.
    pub encoding: EncodingSettings,
    /// `autoindex*`.
    pub autoindex: AutoindexSettings,
    /// `gunzip`, `sub_filter*`.
    pub filters: FilterSettings,
    /// `ssi*`.
    pub ssi: SsiSettings,
    /// `open_file_cache*`.
    pub open_files: OpenFileSettings,
    /// `fastcgi_*`.
    pub fastcgi: OriginSettings,
    /// `proxy_*`.
    pub proxy: OriginSettings,
    /// `resolver`.
    pub resolver: Option<ResolverSettings>,
    /// `early_hints`: values of which one must be neither empty nor `0`.
    pub early_hints: Vec<Text>,
    /// `upgrade_protocols`, in lower case: Myriad's own.
    pub upgrade_protocols: Vec<Box<[u8]>>,
    /// `resolver_timeout`, ms.
    pub resolver_timeout: u64,
    /// `ssl_*`.
    pub tls: TlsSettings,
    /// `http2*`.
    pub http2: Http2Settings,
    /// `http3*`, `quic_*`.
    pub http3: Http3Settings,
    /// `https_only`: Myriad's own; none for `off`.
    pub https_only: Option<HttpsOnly>,
    /// `personal_cookies`, `cache_rfc9111`: Myriad's own, for every protocol.
    pub cache_rules: CacheRules,
}

impl Default for Settings {
    /// nginx's defaults.
    fn default() -> Self {
        Self {
            handler: None,
            client: ClientSettings::default(),
            content: ContentSettings::default(),
            access: AccessSettings::default(),
            limits: LimitSettings::default(),
            real_ip: RealIpSettings::default(),
            referers: RefererSettings::default(),
            headers: HeaderSettings::default(),
            log: LogSettings::default(),
            encoding: EncodingSettings::default(),
            autoindex: AutoindexSettings::default(),
            filters: FilterSettings::default(),
            ssi: SsiSettings::default(),
            open_files: OpenFileSettings::default(),
            fastcgi: OriginSettings::new(Protocol::FastCgi),
            proxy: OriginSettings::new(Protocol::Http),
            resolver: None,
            early_hints: Vec::new(),
            upgrade_protocols: vec![b"websocket"[..].into()],
            resolver_timeout: 30_000,
            tls: TlsSettings::default(),
            http2: Http2Settings::default(),
            http3: Http3Settings::default(),
            https_only: None,
            cache_rules: CacheRules::default(),
        }
    }
}

impl Settings {
    /// The settings of the family with that protocol.
    pub fn origin(&self, protocol: Protocol) -> &OriginSettings {
        match protocol {
            Protocol::FastCgi => &self.fastcgi,
            Protocol::Http => &self.proxy,
        }
    }

    /// What a level within this one begins with.
    pub(crate) fn within(&self) -> Self {
        let mut settings = self.clone();
        settings.headers.add = self.headers.add.within();
        settings.headers.trailers = self.headers.trailers.within();
        settings
    }

    pub(crate) fn origin_mut(&mut self, protocol: Protocol) -> &mut OriginSettings {
        match protocol {
            Protocol::FastCgi => &mut self.fastcgi,
            Protocol::Http => &mut self.proxy,
        }
    }
}
