//! Memory limit of Valkey, and what Valkey does when it is reached.

use myriad_base::digits::decimal;
use redis::aio::MultiplexedConnection;
use redis::cmd;

/// Maximum length of the name of a policy.
const MAX_POLICY: usize = 32;

/// Settings `maxmemory` and `maxmemory-policy` of Valkey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerMemory {
    /// `maxmemory` in bytes; 0 for no limit.
    pub limit: u64,
    /// `maxmemory-policy`.
    pub policy: String,
}

impl ServerMemory {
    /// Sends `INFO memory`; `None` if the ACL does not permit `INFO`, or the reply has no such settings.
    pub(super) async fn read(connection: &mut MultiplexedConnection) -> Option<Self> {
        let info: String = cmd("INFO").arg("memory").query_async(connection).await.ok()?;
        Self::parse(&info)
    }

    fn parse(info: &str) -> Option<Self> {
        let value = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let limit = decimal(value("maxmemory")?.trim())?;
        let policy = value("maxmemory_policy")?.trim();
        let is_name = policy.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        (policy.len() <= MAX_POLICY && is_name).then(|| Self { limit, policy: policy.to_owned() })
    }

    /// Returns the effect of full memory that the administrator should prevent, with the remedy; `None` if there is none.
    ///
    /// The log of purges and the list of nodes have no expiry, so that no `volatile-` policy evicts them.
    pub(super) fn warning(&self) -> Option<String> {
        let Self { limit, policy } = self;
        if *limit == 0 {
            return None;
        }
        let effect = if policy.starts_with("allkeys-") {
            "may evict the log of purges and the list of nodes, which makes stored pages stale; set \"maxmemory-policy volatile-lru\", or use a Valkey of its own"
        } else if policy == "noeviction" {
            "evicts no pages: when the memory is full, pages are not exchanged, and purges wait; set \"maxmemory-policy volatile-lru\""
        } else {
            return None;
        };
        Some(format!("Valkey with \"maxmemory-policy {policy}\" and \"maxmemory {limit}\" {effect}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_policies_that_lose_purges_or_stop_pages_are_reported() {
        let memory = |limit: u64, policy: &str| {
            let info = format!(
                "# Memory\r\nused_memory:1\r\nmaxmemory:{limit}\r\nmaxmemory_human:1M\r\nmaxmemory_policy:{policy}\r\n"
            );
            ServerMemory::parse(&info)
        };
        let warning = |limit, policy| memory(limit, policy).expect("valid").warning();
        for policy in ["allkeys-lru", "allkeys-lfu", "allkeys-random", "noeviction"] {
            assert_eq!(warning(0, policy), None, "without a limit, nothing is evicted");
            assert!(warning(1 << 20, policy).is_some_and(|text| text.contains("volatile-lru")), "{policy}");
        }
        for policy in ["volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"] {
            assert_eq!(warning(1 << 20, policy), None, "{policy}");
        }
        assert_eq!(memory(1, "a\u{1b}[0m"), None);
        assert_eq!(memory(1, &"a".repeat(33)), None);
        assert_eq!(ServerMemory::parse("maxmemory:1\r\n"), None);
    }
}
