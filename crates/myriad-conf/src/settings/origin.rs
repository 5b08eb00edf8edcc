//! Origin settings that all protocols have. The directives of each prefix (`fastcgi_*`, `proxy_*`, …) set the same
//! fields, in a separate copy per protocol.

use super::features::{FeatureSettings, Features};
use super::next_upstream::NextUpstream;
use super::origin_parts::{
    OriginAnswerSettings, OriginBufferingSettings, OriginConnectionSettings, OriginRequestSettings,
};
use super::{OriginTlsSettings, Protocol};

/// Settings of a level for the origins of one protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginSettings {
    /// Protocol of the origins.
    pub protocol: Protocol,
    /// Parts of requests that are sent to origins.
    pub request: OriginRequestSettings,
    /// Settings of connections to the origins, with their timeouts.
    pub connection: OriginConnectionSettings,
    /// `*_next_upstream*`: conditions for retrying a request on the next server.
    pub next_upstream: NextUpstream,
    /// Handling of response fields: those that are obeyed, and those that clients receive.
    pub answer: OriginAnswerSettings,
    /// Buffering of responses.
    pub buffering: OriginBufferingSettings,
    /// `*_ssl_*`: TLS settings for connections to the origins.
    pub tls: OriginTlsSettings,
    /// Settings of the protocol's own directives, and settings that features store per protocol.
    own: Features,
}

impl OriginSettings {
    /// Creates blank settings, to which the defaults are applied next.
    pub(crate) fn new(protocol: Protocol) -> Self {
        Self {
            protocol,
            request: OriginRequestSettings::default(),
            connection: OriginConnectionSettings::default(),
            next_upstream: NextUpstream::default(),
            answer: OriginAnswerSettings::default(),
            buffering: OriginBufferingSettings::default(),
            tls: OriginTlsSettings::default(),
            own: Features::default(),
        }
    }

    /// Returns settings that are specific to the protocol, or that a feature stores per protocol: those of this level
    /// or an outer level, otherwise the defaults.
    pub fn own<T: FeatureSettings>(&self) -> &T {
        self.own.get()
    }

    /// Returns the settings of [`Self::own`] for modification on this level; inner levels inherit them.
    pub fn own_mut<T: FeatureSettings>(&mut self) -> &mut T {
        self.own.get_mut()
    }
}
