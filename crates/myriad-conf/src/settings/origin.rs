//! The settings of origins that every protocol has: `fastcgi_*` and `proxy_*` say them alike, and so does each other prefix.

use super::features::{FeatureSettings, Features};
use super::next_upstream::NextUpstream;
use super::origin_parts::{
    OriginAnswerSettings, OriginBufferingSettings, OriginConnectionSettings, OriginRequestSettings,
};
use super::{CacheSettings, OriginTlsSettings, Protocol};
use crate::text::Text;

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
    /// `*_cache*`.
    pub cache: CacheSettings,
    /// `*_ssl_*`.
    pub tls: OriginTlsSettings,
    /// What the protocol alone has.
    own: Features,
}

impl OriginSettings {
    /// Blank, but for what the protocol has no row for.
    pub(crate) fn new(protocol: Protocol) -> Self {
        Self {
            protocol,
            request: OriginRequestSettings::default(),
            connection: OriginConnectionSettings::default(),
            next_upstream: NextUpstream::default(),
            answer: OriginAnswerSettings::default(),
            buffering: OriginBufferingSettings::default(),
            cache: CacheSettings {
                key: protocol.default_key().map(|key| Text::builtin(key.text)),
                convert_head: protocol.has_environment(),
                ..CacheSettings::default()
            },
            tls: OriginTlsSettings::default(),
            own: Features::default(),
        }
    }

    /// Settings that the protocol alone has: what is written here or around, else what holds where nothing is written.
    pub fn own<T: FeatureSettings>(&self) -> &T {
        self.own.get()
    }

    /// The same, to be changed for this level and those within.
    pub fn own_mut<T: FeatureSettings>(&mut self) -> &mut T {
        self.own.get_mut()
    }
}
