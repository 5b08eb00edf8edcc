//! Clients that send `X-Forwarded-For` but are not trusted: probably proxies missing in `set_real_ip_from`.

use std::net::IpAddr;

use parking_lot::Mutex;

/// Maximum number of addresses of untrusted proxies counted separately; requests of further addresses are counted
/// together.
const MAX_SENDERS: usize = 64;

/// Number of requests to origins with `X-Forwarded-For`, by address of the untrusted sender, since the process started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SenderCounts {
    /// Addresses with their counts; `None` is a client on a Unix socket.
    pub senders: Vec<(Option<IpAddr>, u64)>,
    /// Number of requests of further addresses, which are not counted separately.
    pub others: u64,
}

/// Counts of requests to origins from untrusted proxies (clients that send `X-Forwarded-For`), shared by all workers.
#[derive(Debug, Default)]
pub struct UntrustedProxies(Mutex<SenderCounts>);

impl UntrustedProxies {
    /// Counts a request to an origin that a request from the address `sender` caused; `None` is a client on a Unix
    /// socket. If [`MAX_SENDERS`] other addresses have counts already, the request is added to the common count of
    /// further addresses.
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

    /// Returns the number of requests of each address, the largest number first.
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
