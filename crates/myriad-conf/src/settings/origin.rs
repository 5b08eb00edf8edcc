//! Origin settings that all protocols share. The directives of each prefix (`fastcgi_*`, `proxy_*`, …) set the same
//! fields.

use super::features::{FeatureSettings, Features};
use super::next_upstream::NextUpstream;
use super::origin_parts::{
    OriginAnswerSettings, OriginBufferingSettings, OriginConnectionSettings, OriginRequestSettings,
};
use super::{OriginTlsSettings, Protocol};

/// Settings for requests to and responses from origins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginSettings {
    /// Protocol of the origins.
    pub protocol: Protocol,
    /// Parts of a request that are sent.
    pub request: OriginRequestSettings,
    /// Connection settings and timeouts.
    pub connection: OriginConnectionSettings,
    /// `*_next_upstream*`.
    pub next_upstream: NextUpstream,
    /// Response fields that are obeyed, and fields that are sent to the client.
    pub answer: OriginAnswerSettings,
    /// Amount of response data that is read ahead of the client.
    pub buffering: OriginBufferingSettings,
    /// `*_ssl_*`.
    pub tls: OriginTlsSettings,
    /// Settings that features store per protocol, and settings specific to the protocol.
    own: Features,
}

impl OriginSettings {
    /// Creates settings before any directive is applied, including the defaults.
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

    /// Returns settings that a feature stores per protocol or that are specific to the protocol: those of this level or
    /// an outer level, otherwise the defaults.
    pub fn own<T: FeatureSettings>(&self) -> &T {
        self.own.get()
    }

    /// Returns these settings for modification. Changes apply to this level and its inner levels.
    pub fn own_mut<T: FeatureSettings>(&mut self) -> &mut T {
        self.own.get_mut()
    }
}
