//! Limits of the leak guard for each client: a client can copy text of a page into a cookie.

use std::net::IpAddr;

use myriad_base::bounded::Lru;
use myriad_http::client_network;

/// Maximum number of clients; those that caused an effect least recently are dropped.
const MAX_CLIENTS: u64 = 4096;
/// Time in milliseconds for which the effects of a client are counted.
const PERIOD_MS: u64 = 3_600_000;

/// Effect of a value that a client sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientEffect {
    /// For some seconds, requests for the page do not wait for each other (hit-for-miss).
    HitForMiss,
    /// The page is requested again, to verify the leak.
    Verification,
    /// A confirmed leak counts for the quarantine of the page.
    Confirmation,
    /// A stored page is verified because of a hit.
    Sample,
}

impl ClientEffect {
    /// Returns how often a client may cause the effect in [`PERIOD_MS`].
    const fn limit(self) -> u16 {
        match self {
            Self::HitForMiss => 16,
            Self::Verification => 32,
            Self::Confirmation => 4,
            Self::Sample => 128,
        }
    }
}

/// Client as the leak guard counts it: an IPv4 address, or the /64 of an IPv6 address; `None` for a client without an
/// address.
pub(super) type ClientNetwork = Option<IpAddr>;

/// Returns the network of a client.
pub(super) fn network_of(client: Option<IpAddr>) -> ClientNetwork {
    client.map(client_network)
}

/// Effects that clients caused in the last hour.
#[derive(Debug)]
pub(super) struct ClientLimits(Lru<ClientNetwork, EffectCounts>);

/// Number of times that a client has caused each [`ClientEffect`]. The counting restarts with the first effect more than
/// [`PERIOD_MS`] after its start.
#[derive(Clone, Copy, Debug)]
struct EffectCounts {
    /// Time of the first effect that is counted, in milliseconds.
    since_ms: u64,
    counts: [u16; 4],
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self(Lru::new(MAX_CLIENTS))
    }
}

impl ClientLimits {
    /// Counts an effect of a client's value. Returns false, and does not count it, if the client has caused this effect
    /// as often as permitted in the hour since its first counted effect. `now` is in milliseconds.
    pub(super) fn admit(&mut self, client: ClientNetwork, effect: ClientEffect, now: u64) -> bool {
        let known = self.0.get_mut(&client).copied();
        let mut counts = known
            .filter(|known| now < known.since_ms.saturating_add(PERIOD_MS))
            .unwrap_or(EffectCounts { since_ms: now, counts: [0; 4] });
        let count = &mut counts.counts[effect as usize];
        let is_admitted = *count < effect.limit();
        *count += u16::from(is_admitted);
        self.0.insert(client, counts, 1);
        is_admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_of_a_network_are_limited_for_an_hour() {
        let mut clients = ClientLimits::default();
        let client = |address: &str| network_of(Some(address.parse().expect("an address")));
        let mut admitted = |address: &str, now| clients.admit(client(address), ClientEffect::HitForMiss, now);
        assert!((0..16).all(|number| admitted(&format!("2001:db8::{number:x}"), 1000 + number)));
        assert!(!admitted("2001:db8::ffff", 3_600_999));
        assert!(admitted("2001:db8:0:1::1", 3_600_999), "another network");
        assert!(admitted("2001:db8::1", 3_601_000), "an hour later");
        assert!(clients.admit(client("2001:db8::1"), ClientEffect::Verification, 1000), "another effect");
    }
}
