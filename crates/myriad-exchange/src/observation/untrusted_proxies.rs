//! Untrusted senders of requests with `X-Forwarded-For`: probably proxies that are missing in the configuration.

use std::net::IpAddr;

use parking_lot::Mutex;

/// Maximum number of senders; requests of further senders are counted together.
const MAX_SENDERS: usize = 64;

/// Numbers of requests by sender, since the process started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SenderCounts {
    /// Senders; `None` is a Unix socket.
    pub senders: Vec<(Option<IpAddr>, u64)>,
    /// Requests of further senders.
    pub others: u64,
}

/// Counts of all workers.
#[derive(Debug, Default)]
pub struct UntrustedProxies(Mutex<SenderCounts>);

impl UntrustedProxies {
    /// Counts a request of `sender`; `None` is a Unix socket.
    pub fn count(&self, sender: Option<IpAddr>) {
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
        let senders = UntrustedProxies::default();
        let proxy: IpAddr = "192.0.2.7".parse().expect("an address");
        for client in 0..100_u32 {
            senders.count(Some(IpAddr::from(client.to_be_bytes())));
            senders.count(Some(proxy));
        }
        senders.count(None);
        let counts = senders.counts();
        assert_eq!(counts.senders[0], (Some(proxy), 100));
        assert_eq!(counts.senders.len(), MAX_SENDERS);
        assert_eq!(counts.senders.iter().map(|(_, count)| count).sum::<u64>() + counts.others, 201);
    }
}
