//! The settings of origins that every protocol has: `fastcgi_*` and `proxy_*` say them alike, and so does each other prefix.

use super::features::{FeatureSettings, Features};
use super::next_upstream::NextUpstream;
use super::origin_parts::{
    OriginAnswerSettings, OriginBufferingSettings, OriginConnectionSettings, OriginRequestSettings,
};
use super::{OriginTlsSettings, Protocol};

/// How an origin is asked and its answer taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginSettings {
    /// The protocol that the origins speak.
    pub protocol: Protocol,
    /// What is sent of a request.
    pub request: OriginRequestSettings,
    /// How the origin is connected to and waited for.
    pub connection: OriginConnectionSettings,
    /// `*_next_upstream*`.
    pub next_upstream: NextUpstream,
    /// What of an answer is obeyed, and what goes to the client.
    pub answer: OriginAnswerSettings,
    /// How much of it is read ahead of the client.
    pub buffering: OriginBufferingSettings,
    /// `*_ssl_*`.
    pub tls: OriginTlsSettings,
    /// What features keep for each protocol, and what the protocol alone has.
    own: Features,
}

impl OriginSettings {
    /// Settings that no directive was laid over, not even the defaults.
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

    /// Settings that a feature keeps for each protocol, or that the protocol alone has: what is written here or around, else what
    /// holds where nothing is written.
    pub fn own<T: FeatureSettings>(&self) -> &T {
        self.own.get()
    }

    /// The same, to be changed for this level and those within.
    pub fn own_mut<T: FeatureSettings>(&mut self) -> &mut T {
        self.own.get_mut()
    }
}
