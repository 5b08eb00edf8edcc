//! Settings per `http`, `server`, `location` or `if`, with defaults and inheritance applied.
//!
//! Sizes are in bytes, times in milliseconds, rates in bytes per second. Each level starts as a copy of the outer
//! level, and its directives are applied to the copy. Lists such as `add_header` are cleared by the first directive of
//! a level. The outermost level is [`crate::defaults`]; values from `Default` are blank and not part of any
//! configuration.

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
pub use tls::{CertificateCache, OcspCache, OcspCheck, SessionCache, TlsSettings, VerifyClient};

pub use copy_on_write::CopyOnWrite;
pub use protocol::{DefaultKey, Protocol, ProtocolFacts, Scheme};

use std::sync::Arc;

use crate::text::Text;
use features::Features;

/// Content handler of a location, used if no earlier step has responded. Without a handler, static files are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handler {
    /// Handler of a feature.
    Feature(FeatureHandler),
    /// `fastcgi_pass`, `proxy_pass` and similar directives. The details are in [`Settings::origin`] of the protocol.
    Origin {
        /// Protocol of the origin.
        protocol: Protocol,
        /// Argument of the directive: an address, a group name or an URL; may contain variables.
        target: Text,
        /// Prefix that the location matches, replaced by the path of an URL. Empty if the location has no prefix, such
        /// as regex and named locations.
        prefix: Text,
    },
}

/// All settings of the level that serves a request.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Content handler; not inherited by nested locations, only by `if` and `limit_except`, as in nginx.
    pub handler: Option<Handler>,
    /// Reading from and writing to the client.
    pub client: CopyOnWrite<ClientSettings>,
    /// Files, types, error pages.
    pub content: CopyOnWrite<ContentSettings>,
    /// Access log, error log.
    pub log: CopyOnWrite<LogSettings>,
    /// Origin settings by [`Protocol`], shared between levels with equal settings.
    origins: CopyOnWrite<Vec<Arc<OriginSettings>>>,
    /// `ssl_*`.
    pub tls: CopyOnWrite<TlsSettings>,
    /// `http2*`.
    pub http2: CopyOnWrite<Http2Settings>,
    /// `http3*`, `quic_*`.
    pub http3: CopyOnWrite<Http3Settings>,
    features: Features,
}

impl Settings {
    /// Creates settings before any directive is applied, including the defaults.
    pub(crate) fn blank(protocols: impl Iterator<Item = Protocol>) -> Self {
        let origins: Vec<_> = protocols.map(|protocol| Arc::new(OriginSettings::new(protocol))).collect();
        Self { origins: origins.into(), ..Self::default() }
    }

    /// Returns the settings of origins with the given protocol.
    ///
    /// # Panics
    /// Panics if the registry used to read the settings does not contain the protocol.
    pub fn origin(&self, protocol: Protocol) -> &OriginSettings {
        &self.origins[self.index(protocol)]
    }

    /// Returns the settings of origins whose TLS directives are shared with `stream`; `None` if no such protocol is
    /// registered.
    pub fn stream_origin(&self) -> Option<&OriginSettings> {
        self.origins.iter().map(|origin| &**origin).find(|origin| origin.protocol.serves_streams())
    }

    /// Returns the settings of a feature: those of this level or an outer level, otherwise the defaults.
    pub fn feature<T: FeatureSettings>(&self) -> &T {
        self.features.get()
    }

    /// Returns the settings of a feature for modification. Changes apply to this level and its inner levels.
    pub fn feature_mut<T: FeatureSettings>(&mut self) -> &mut T {
        self.features.get_mut()
    }

    /// Returns the initial settings of an inner level.
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
