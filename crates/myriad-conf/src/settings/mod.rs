//! Settings of a level (`http`, `server`, `location`, `if`, …), with defaults and inheritance applied.
//!
//! Sizes are in bytes, times in milliseconds, rates in bytes per second. Each level starts as a copy of the settings of
//! the outer level, to which its directives are applied. Lists such as `add_header` are cleared by the first such
//! directive of a level. The outermost level is [`crate::defaults`]; values of `Default` are blank, and no
//! configuration has them.

mod client;
mod content;
mod copy_on_write;
mod error_log;
mod feature_handler;
mod features;
mod health_check;
mod http2;
mod http3;
mod log;
mod network;
mod next_upstream;
mod openssl;
mod origin;
mod origin_parts;
mod origin_tls;
mod protocol;
mod syslog;
mod tls;

pub use client::{BodyInFile, ClientSettings, LargeBuffers, Lingering, MinRate, TempPath};
pub use content::{ContentSettings, ErrorPage, ErrorPageCode, ServerTokens, TryFiles, TryFilesEnd, Types};
pub use error_log::{ErrorLog, LogLevel};
pub use feature_handler::{FeatureHandler, HandlerPlan};
pub use features::FeatureSettings;
pub use health_check::{GrpcHealth, HealthCheck};
pub use http2::Http2Settings;
pub use http3::Http3Settings;
pub use log::{AccessLog, LogSettings, OpenLogFileCache};
pub use network::Network;
pub use next_upstream::NextUpstream;
pub use origin::OriginSettings;
pub use origin_parts::{
    AcceleratorHeaders, Buffers, OriginAnswerSettings, OriginBufferingSettings, OriginConnectionSettings,
    OriginRequestSettings, Parameter,
};
pub use origin_tls::OriginTlsSettings;
pub use syslog::{SyslogConf, SyslogServer};
pub use tls::{
    CertificateCache, OcspCache, OcspCheck, SessionCache, TLS_DATA, TlsSettings, VerifyClient,
    tls_display_name,
};

pub use copy_on_write::CopyOnWrite;
pub use protocol::{DefaultKey, Protocol, ProtocolFacts, Scheme};

use std::sync::Arc;

use crate::text::Text;
use features::Features;

/// Content handler of a location: it responds if no earlier phase has. Locations without a handler serve static files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handler {
    /// Handler that a feature provides.
    Feature(FeatureHandler),
    /// `fastcgi_pass`, `proxy_pass` and similar directives. The details are in [`Settings::origin`] of the protocol.
    Origin {
        /// Protocol of the origin.
        protocol: Protocol,
        /// Argument of the directive: an address, the name of an upstream group, or a URL; may contain variables.
        target: Text,
        /// Pattern of the exact or prefix location that directly contains the directive, which the path of a URL
        /// replaces; otherwise empty.
        prefix: Text,
    },
}

/// All settings of a level: `http`, a server, a location, `if` or `limit_except`.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Content handler; `None` to serve static files. As in nginx, `if` and `limit_except` inherit it, nested locations
    /// do not.
    pub handler: Option<Handler>,
    /// Settings for connections of clients.
    pub client: CopyOnWrite<ClientSettings>,
    /// Settings for static files, media types and error pages.
    pub content: CopyOnWrite<ContentSettings>,
    /// Settings for access and error logs.
    pub log: CopyOnWrite<LogSettings>,
    /// Origin settings per [`Protocol`], shared between levels until changed.
    origins: CopyOnWrite<Vec<Arc<OriginSettings>>>,
    /// `ssl_*`: TLS settings for clients.
    pub tls: CopyOnWrite<TlsSettings>,
    /// `http2*`: HTTP/2 settings for clients.
    pub http2: CopyOnWrite<Http2Settings>,
    /// `http3*`, `quic_*`: HTTP/3 and QUIC settings for clients.
    pub http3: CopyOnWrite<Http3Settings>,
    features: Features,
}

impl Settings {
    /// Creates blank settings, to which the defaults are applied next.
    pub(crate) fn blank(protocols: impl Iterator<Item = Protocol>) -> Self {
        let origins: Vec<_> = protocols.map(|protocol| Arc::new(OriginSettings::new(protocol))).collect();
        Self { origins: origins.into(), ..Self::default() }
    }

    /// Returns the settings for origins of this protocol.
    ///
    /// # Panics
    /// Panics if the registry that read the configuration does not contain the protocol.
    pub fn origin(&self, protocol: Protocol) -> &OriginSettings {
        &self.origins[self.index(protocol)]
    }

    /// Returns the settings for origins of all protocols.
    pub fn origins(&self) -> impl Iterator<Item = &OriginSettings> {
        self.origins.iter().map(|origin| &**origin)
    }

    /// Returns the origin settings whose TLS directives (`proxy_ssl_*`) also apply to `stream`; `None` if no such
    /// protocol is registered.
    pub fn stream_origin(&self) -> Option<&OriginSettings> {
        self.origins.iter().map(|origin| &**origin).find(|origin| origin.protocol.serves_streams())
    }

    /// Returns the settings of a feature: those set on this level or inherited from an outer level, otherwise the
    /// defaults.
    pub fn feature<T: FeatureSettings>(&self) -> &T {
        self.features.get()
    }

    /// Returns the settings of a feature for modification on this level, which inner levels inherit.
    pub fn feature_mut<T: FeatureSettings>(&mut self) -> &mut T {
        self.features.get_mut()
    }

    /// Returns the initial settings of an inner level: a copy, except for features that do not inherit unchanged.
    pub(crate) fn within(&self) -> Self {
        let mut settings = self.clone();
        settings.features = self.features.within();
        settings
    }

    pub(crate) fn origin_mut(&mut self, protocol: Protocol) -> &mut OriginSettings {
        let index = self.index(protocol);
        Arc::make_mut(&mut self.origins[index])
    }

    fn index(&self, protocol: Protocol) -> usize {
        let index = self.origins.iter().position(|origin| origin.protocol == protocol);
        index.expect("the protocol must be registered")
    }
}
