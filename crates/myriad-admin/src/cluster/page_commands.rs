//! Commands for the pages that nodes store in Valkey for each other.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{ErrorKind, RedisError, Value, cmd};

use super::link_error::LinkError;

/// Maximum time for the reply to a command. A request that waits for it then continues without Valkey.
pub(super) const REPLY_TIMEOUT: Duration = Duration::from_millis(500);

/// Returns the page and its remaining lifetime in milliseconds. Without a page, or if `ARGV[3]` is `0`, acquires the
/// lease and returns 1, or, if another node has it, returns its remaining time as a negative number. A page of more than 2 MB, and a lease with another duration,
/// were not written by Myriad and are ignored. `KEYS`: page, lease; `ARGV`: token, duration of the lease in
/// milliseconds, whether the page is read.
const FIND: &str = "\
if ARGV[3] == '1' and redis.call('STRLEN', KEYS[1]) <= 2097152 then
  local page = redis.call('GET', KEYS[1])
  if page then return {page, redis.call('PTTL', KEYS[1])} end
end
local left = redis.call('PTTL', KEYS[2])
if left > 0 and left <= tonumber(ARGV[2]) then return -left end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return 1";

/// Stores a page and releases the lease, if the lease still has the token; returns 1 then. `KEYS`: page, lease; `ARGV`: token,
/// page, lifetime of the page in milliseconds, channel, name of the page.
const STORE: &str = "\
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('DEL', KEYS[2])
redis.call('PUBLISH', ARGV[4], ARGV[5] .. '+')
return 1";

/// Releases the lease if it still has the token. `KEYS`: lease; `ARGV`: token, channel, name of the page.
const RELEASE: &str = "\
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[2], ARGV[3] .. '-')
return 1";

/// Renews the lease if it still has the token. `KEYS`: lease; `ARGV`: token, duration in milliseconds.
const RENEW: &str = "\
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])";

/// Reply to [`PageConnection::find`].
pub(super) enum FindReply {
    /// A page is stored.
    Page {
        /// The record.
        record: Vec<u8>,
        /// Remaining lifetime of the record in milliseconds.
        remaining_ms: u64,
    },
    /// No page is stored, and the lease was acquired.
    Acquired,
    /// No page is stored, and another request has the lease.
    Leased {
        /// Time after which the lease expires unless it is renewed, in milliseconds.
        remaining_ms: u64,
    },
}

/// Names of a page in Valkey.
#[derive(Clone)]
pub(super) struct PageNames {
    name: String,
    page: String,
    lease: String,
}

/// Connection for pages.
#[derive(Clone)]
pub(super) struct PageConnection {
    pub connection: MultiplexedConnection,
    /// Prefix of the cluster's keys.
    pub prefix: String,
    /// Channel on which released leases are published: the name of the page, and `+` if it was stored, otherwise `-`.
    pub channel: String,
}

impl PageConnection {
    /// Returns the names of the page with this name.
    pub(super) fn names(&self, name: &str) -> PageNames {
        let prefix = &self.prefix;
        PageNames {
            name: name.to_owned(),
            page: format!("{prefix}page:{name}"),
            lease: format!("{prefix}lease:{name}"),
        }
    }

    /// Reads a page, if `reads_page`, or acquires its lease.
    ///
    /// # Errors
    /// Returns an error if the connection is lost, or the server refuses the command or does not reply in time.
    pub(super) async fn find(
        &self,
        names: &PageNames,
        token: &str,
        lease: Duration,
        reads_page: bool,
    ) -> Result<FindReply, LinkError> {
        let mut find = cmd("EVAL");
        find.arg(FIND).arg(2).arg(&names.page).arg(&names.lease);
        find.arg(token).arg(lease.as_millis() as u64).arg(u8::from(reads_page));
        match find.query_async(&mut self.connection.clone()).await? {
            Value::Int(1) => Ok(FindReply::Acquired),
            Value::Int(remaining) => Ok(FindReply::Leased { remaining_ms: remaining.unsigned_abs() }),
            Value::Array(parts) => match <[Value; 2]>::try_from(parts) {
                Ok([Value::BulkString(record), Value::Int(remaining)]) => {
                    Ok(FindReply::Page { record, remaining_ms: remaining.max(0).cast_unsigned() })
                }
                _ => Err(unexpected()),
            },
            _ => Err(unexpected()),
        }
    }

    /// Stores a page and releases its lease. Returns false if the lease has expired.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub(super) async fn store(
        &self,
        names: &PageNames,
        token: &str,
        record: &[u8],
        lifetime: Duration,
    ) -> Result<bool, LinkError> {
        let mut store = cmd("EVAL");
        store.arg(STORE).arg(2).arg(&names.page).arg(&names.lease).arg(token).arg(record);
        store.arg(lifetime.as_millis() as u64).arg(&self.channel).arg(&names.name);
        Ok(store.query_async(&mut self.connection.clone()).await?)
    }

    /// Releases the lease of a page that was not stored.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub(super) async fn release(&self, names: &PageNames, token: &str) -> Result<(), LinkError> {
        let mut release = cmd("EVAL");
        release.arg(RELEASE).arg(1).arg(&names.lease).arg(token);
        release.arg(&self.channel).arg(&names.name);
        release.exec_async(&mut self.connection.clone()).await?;
        Ok(())
    }

    /// Renews the lease of a page.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub(super) async fn renew(
        &self,
        names: &PageNames,
        token: &str,
        lease: Duration,
    ) -> Result<(), LinkError> {
        let mut renew = cmd("EVAL");
        renew.arg(RENEW).arg(1).arg(&names.lease).arg(token).arg(lease.as_millis() as u64);
        renew.exec_async(&mut self.connection.clone()).await?;
        Ok(())
    }
}

fn unexpected() -> LinkError {
    RedisError::from((ErrorKind::UnexpectedReturnType, "unexpected reply to a page's script")).into()
}
