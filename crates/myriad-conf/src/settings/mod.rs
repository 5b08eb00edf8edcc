//! Settings that hold per `http`, `server`, `location` or `if`, resolved: defaults filled in, inheritance done.
//!
//! Sizes are bytes, times milliseconds, rates bytes per second. Each level starts as a copy of the level around it and
//! its own directives are laid over; lists such as `add_header` start anew at a level that names one. The outermost level is
//! [`crate::defaults`]: what `Default` gives is blank, and stands for nothing that a configuration means.

mod client;
mod content;
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
mod shared;
mod syslog;
mod tls;

pub use client::{BodyInFile, ClientSettings, LargeBuffers, Lingering, MinRate, TempPath};
pub use content::{ContentSettings, ErrorPage, ErrorPageCode, ServerTokens, TryFiles, TryFilesEnd, Types};
pub use error_log::{ErrorLog, Level};
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
pub use tls::{AskOcsp, CertificateCache, OcspCache, SessionCache, TlsSettings, VerifyClient};

pub use protocol::{DefaultKey, Protocol, ProtocolFacts, Scheme};
pub use shared::Shared;

use std::sync::Arc;

use crate::text::Text;
use features::Features;

/// What makes the content of a location when nothing earlier has answered; without one, static files do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handler {
    /// One that a feature brings.
    Feature(FeatureHandler),
    /// `fastcgi_pass`, `proxy_pass` and their like; the details are in [`Settings::origin`] of that protocol.
    Origin {
        /// The protocol that the origin speaks.
        protocol: Protocol,
        /// The directive's argument: an address, a group's name, an URL; may hold variables.
        target: Text,
        /// The prefix that the location matches by, which the path of an URL takes the place of; empty where there is
        /// none, as in regex and named locations.
        prefix: Text,
    },
}

/// Everything that a request needs to know of the level that serves it.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// What makes the content; not inherited by nested locations, only by `if` and `limit_except`, as in nginx.
    pub handler: Option<Handler>,
    /// Reading from and writing to the client.
    pub client: Shared<ClientSettings>,
    /// Files, types, error pages.
    pub content: Shared<ContentSettings>,
    /// Access log, error log.
    pub log: Shared<LogSettings>,
    /// What is said of origins, by [`Protocol`]; shared among levels that say the same.
    origins: Shared<Vec<Arc<OriginSettings>>>,
    /// `ssl_*`.
    pub tls: Shared<TlsSettings>,
    /// `http2*`.
    pub http2: Shared<Http2Settings>,
    /// `http3*`, `quic_*`.
    pub http3: Shared<Http3Settings>,
    features: Features,
}

impl Settings {
    /// Settings that no directive was laid over, not even the defaults.
    pub(crate) fn blank(protocols: impl Iterator<Item = Protocol>) -> Self {
        let origins: Vec<_> = protocols.map(|protocol| Arc::new(OriginSettings::new(protocol))).collect();
        Self { origins: origins.into(), ..Self::default() }
    }

    /// The settings of origins that speak the protocol.
    ///
    /// # Panics
    /// Where the registry that the settings were read by does not have the protocol.
    pub fn origin(&self, protocol: Protocol) -> &OriginSettings {
        &self.origins[self.index(protocol)]
    }

    /// The settings of origins whose words for TLS `stream` shares; none where no such protocol is there.
    pub fn stream_origin(&self) -> Option<&OriginSettings> {
        self.origins.iter().map(|origin| &**origin).find(|origin| origin.protocol.serves_streams())
    }

    /// The settings of a feature: what is written here or around, else what holds where nothing is written.
    pub fn feature<T: FeatureSettings>(&self) -> &T {
        self.features.get()
    }

    /// The same, to be changed for this level and those within.
    pub fn feature_mut<T: FeatureSettings>(&mut self) -> &mut T {
        self.features.get_mut()
    }

    /// What a level within this one begins with.
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
        index.expect("a protocol of the registry")
    }
}
