//! Exchange of the keys of TLS session tickets, so that a session is resumed by any node.
//!
//! Each node proposes keys for the current and the next period, and uses those on which the nodes agree
//! ([`SharedTicketKeys`]). After a loss of data, the nodes propose the keys that they know. A node without a connection uses
//! the keys that it knows until they expire, and then its own ones. Handshakes never wait for Valkey.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use myriad_cluster::record::{ClusterSecret, RecordError, TicketKeyRecord};
use myriad_log::{ErrorLog, LogLevel};
use myriad_net::clock::now_ms;
use myriad_tls::{ExchangedTicketKey, SharedTicketKeys};
use parking_lot::Mutex;

use super::input::clock_ms;
use super::log_limiter::LogLimiter;
use super::secret_commands::SecretConnection;

/// Interval at which the keys are read. A new key encrypts after five seconds, when all nodes have read it.
const INTERVAL: Duration = Duration::from_secs(2);

/// Ticket keys of this process that the cluster shares. They outlive the connection and the node.
#[derive(Default)]
pub(super) struct ClusterTicketKeys {
    sets: Mutex<Vec<Arc<SharedTicketKeys>>>,
    counters: TicketKeyCounters,
    log_limiter: Mutex<LogLimiter>,
}

#[derive(Default)]
struct TicketKeyCounters {
    read: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
}

impl ClusterTicketKeys {
    /// Replaces the sets of keys, one for each lifetime of tickets.
    pub(super) fn set(&self, sets: Vec<Arc<SharedTicketKeys>>) {
        *self.sets.lock() = sets;
    }

    /// Forgets all shared keys: this server leaves the cluster.
    pub(super) fn forget(&self) {
        self.sets.lock().iter().for_each(|keys| keys.clear());
    }

    /// Returns the state for administrators: `shared`, `local` if at least one lifetime of tickets has no shared key, or
    /// `off` if no server issues tickets with generated keys.
    pub(super) fn state(&self) -> &'static str {
        let (sets, now_s) = (self.sets.lock(), now_ms() / 1000);
        match sets.iter().all(|keys| keys.is_active(now_s)) {
            true if sets.is_empty() => "off",
            true => "shared",
            false => "local",
        }
    }

    /// Returns the names and values of the counters.
    pub(super) fn counters(&self) -> [(&'static str, u64); 3] {
        let counters = &self.counters;
        [
            ("ticket_keys_read", &counters.read),
            ("ticket_keys_refused", &counters.refused),
            ("ticket_key_failures", &counters.failed),
        ]
        .map(|(name, counter)| (name, counter.load(Relaxed)))
    }

    /// Exchanges keys until the task is cancelled.
    pub(super) async fn run(
        self: Arc<Self>,
        connection: SecretConnection,
        secret: ClusterSecret,
        log: ErrorLog,
    ) {
        loop {
            let sets = self.sets.lock().clone();
            for keys in &sets {
                for period in keys.needed_periods(now_ms() / 1000) {
                    self.exchange(&connection, &secret, keys, period, &log).await;
                }
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Agrees with the other nodes on the key of a period. A value that is refused stays in Valkey until it expires.
    async fn exchange(
        &self,
        connection: &SecretConnection,
        secret: &ClusterSecret,
        keys: &SharedTicketKeys,
        period: u64,
        log: &ErrorLog,
    ) {
        let now_s = now_ms() / 1000;
        let name = TicketKeyRecord::name(keys.lifetime_s(), period);
        let proposal = keys.proposal(period, now_s).and_then(|proposal| {
            TicketKeyRecord { made_s: proposal.made_s, key: proposal.bytes }.encode(secret, &name)
        });
        // Without random numbers, handshakes fail as well.
        let Some(proposal) = proposal else { return };
        match connection.agree(&name, &proposal, keys.remaining_ms(period, now_s)).await {
            Ok(value) => match use_key(keys, period, secret, &name, &value) {
                Ok(true) => drop(self.counters.read.fetch_add(1, Relaxed)),
                Ok(false) => {}
                Err(error) => {
                    self.counters.refused.fetch_add(1, Relaxed);
                    let text = format!(
                        "the key of session tickets \"{name}\" in Valkey is refused ({error}); this node uses the keys \
                         that it knows, and its own ones, until the value expires"
                    );
                    self.log_limiter.lock().write(log, LogLevel::Error, &text, clock_ms());
                }
            },
            Err(error) => {
                self.counters.failed.fetch_add(1, Relaxed);
                if !error.is_connection_lost {
                    let text = format!(
                        "keys of session tickets cannot be exchanged ({}); if Valkey refuses a command, permit those \
                         that docs/cluster.md lists",
                        error.why
                    );
                    self.log_limiter.lock().write(log, LogLevel::Error, &text, clock_ms());
                }
            }
        }
    }
}

/// Uses a key that the nodes have agreed on. Returns true if it was not in use before.
fn use_key(
    keys: &SharedTicketKeys,
    period: u64,
    secret: &ClusterSecret,
    name: &str,
    value: &[u8],
) -> Result<bool, RecordError> {
    let TicketKeyRecord { made_s, key } = TicketKeyRecord::decode(secret, name, value)?;
    let now_s = now_ms() / 1000;
    let exchanged = ExchangedTicketKey { made_s, bytes: key };
    if keys.known(period).is_some_and(|known| known.bytes == exchanged.bytes) {
        return Ok(false);
    }
    if !keys.insert(period, &exchanged, now_s) && keys.needed_periods(now_s).contains(&period) {
        return Err(RecordError::Malformed);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_cluster::record::NodeName;

    #[test]
    fn key_of_another_name_or_format_is_refused() {
        let secret =
            ClusterSecret::new(&NodeName::new("shop").expect("a name"), &[1; 32]).expect("long enough");
        let keys = SharedTicketKeys::new(300);
        let now_s = now_ms() / 1000;
        let [period, next] = keys.needed_periods(now_s);
        let proposal = keys.proposal(period, now_s).expect("randomness");
        let record = TicketKeyRecord { made_s: proposal.made_s, key: proposal.bytes };
        let name = TicketKeyRecord::name(300, period);
        let value = record.encode(&secret, &name).expect("encrypted");
        let other = TicketKeyRecord::name(300, next);
        assert_eq!(use_key(&keys, next, &secret, &other, &value), Err(RecordError::NotAuthentic));
        assert_eq!(use_key(&keys, period, &secret, &name, &[]), Err(RecordError::NotAuthentic));
        let short = TicketKeyRecord { made_s: now_s, key: vec![1; 47].into() };
        let short = short.encode(&secret, &name).expect("encrypted");
        assert_eq!(use_key(&keys, period, &secret, &name, &short), Err(RecordError::Malformed));
        assert!(keys.known(period).is_none());
        assert_eq!(use_key(&keys, period, &secret, &name, &value), Ok(true));
        assert_eq!(use_key(&keys, period, &secret, &name, &value), Ok(false));
    }
}
