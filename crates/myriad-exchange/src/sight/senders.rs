//! Senders of requests with `X-Forwarded-For` that are not trusted: a proxy in front that the configuration does not name.

use std::net::IpAddr;

use myriad_http::Known;
use parking_lot::Mutex;

use crate::exchange::Request;

/// Maximum number of senders; requests of further ones are counted together.
const MAX_SENDERS: usize = 64;

/// Numbers of requests by sender, since the process started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SenderCounts {
    /// Senders; `None` is a unix socket.
    pub senders: Vec<(Option<IpAddr>, u64)>,
    /// Requests of further senders.
    pub others: u64,
}

/// Counts of all workers.
#[derive(Debug, Default)]
pub struct Senders(Mutex<SenderCounts>);

impl Senders {
    /// Counts a request that is sent to an origin if it has `X-Forwarded-For` and its sender is not trusted. Cache hits are not counted.
    pub fn note(&self, request: &Request) {
        let has_field = request.received.head.fields().has(Known::XForwardedFor);
        if has_field && request.received.real.is_none() && !request.is_subrequest() {
            self.add(request.received.connection.peer.ip().map(|sender| sender.to_canonical()));
        }
    }

    fn add(&self, sender: Option<IpAddr>) {
        let mut counts = self.0.lock();
        if let Some((_, count)) = counts.senders.iter_mut().find(|(known, _)| *known == sender) {
            *count += 1;
        } else if counts.senders.len() < MAX_SENDERS {
            counts.senders.push((sender, 1));
        } else {
            counts.others += 1;
        }
    }

    /// Returns the counts, the largest first.
    pub fn counts(&self) -> SenderCounts {
        let mut counts = self.0.lock().clone();
        counts.senders.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senders_are_counted_up_to_a_bound() {
        let senders = Senders::default();
        let proxy: IpAddr = "192.0.2.7".parse().expect("an address");
        for client in 0..100_u32 {
            senders.add(Some(IpAddr::from(client.to_be_bytes())));
            senders.add(Some(proxy));
        }
        senders.add(None);
        let counts = senders.counts();
        assert_eq!(counts.senders[0], (Some(proxy), 100));
        assert_eq!(counts.senders.len(), MAX_SENDERS);
        assert_eq!(counts.senders.iter().map(|(_, count)| count).sum::<u64>() + counts.others, 201);
    }
}
