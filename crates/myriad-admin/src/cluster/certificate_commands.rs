//! Commands for automatic certificates that the nodes share.
//!
//! A client of Valkey without the secret of the cluster may have written any value, of any type and length. Scripts therefore
//! return values of leases to the node, which authenticates them, and repeat the script with the values that do not count.

use myriad_cluster::record::{CertificateNames, OrderLeaseRecord};
use redis::{ErrorKind, RedisError, RedisResult, Value, cmd};

use super::certificate_changes::CHANGES_LENGTH;
use super::link_error::LinkError;
use super::secret_commands::SecretConnection;

/// Maximum length of a value that a script returns, in bytes; longer ones were not written by Myriad and count as missing.
const MAX_VALUE: u32 = 524_288;
/// Maximum length of all challenges that are read at once, in bytes.
const MAX_CHALLENGES: u32 = 1 << 20;

/// Time for which the value of a lease remains after the lease has expired, in milliseconds. It contains the number of failed
/// orders, which determines the next pause.
pub(super) const RETENTION_MS: u64 = 24 * 3_600_000;

/// Returns the certificate, and acquires the lease unless a lease exists that counts. Returns the index of that lease, its
/// value and its remaining time in milliseconds, 0 if it has expired; otherwise, zeros and an empty value. The lease of the
/// order counts also after it has expired, because it contains the number of failed orders. `KEYS`: certificate, lease of the
/// order, leases of other orders; `ARGV`: new lease, duration, retention, maximum lengths of the certificate and of a lease,
/// for each lease the value that does not count.
const CLAIM: &str = "\
local size, value = redis.pcall('STRLEN', KEYS[1]), ''
if type(size) == 'number' and size <= tonumber(ARGV[4]) then value = redis.call('GET', KEYS[1]) or '' end
for i = 2, #KEYS do
  local length = redis.pcall('STRLEN', KEYS[i])
  if type(length) == 'number' and length > 0 and length <= tonumber(ARGV[5]) then
    local lease = redis.call('GET', KEYS[i])
    local left = math.max(redis.call('PTTL', KEYS[i]) - tonumber(ARGV[3]), 0)
    if lease ~= ARGV[4 + i] and (left > 0 or i == 2) then return {value, i - 1, lease, left} end
  end
end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2] + ARGV[3])
return {value, 0, '', 0}";

/// Renews the lease, and returns an empty value. If there is another value, and it counts, returns it without effect. `KEYS`:
/// lease; `ARGV`: lease, value that does not count, duration, maximum length of a lease.
const RENEW: &str = "\
local length = redis.pcall('STRLEN', KEYS[1])
if type(length) == 'number' and length > 0 and length <= tonumber(ARGV[4]) then
  local lease = redis.call('GET', KEYS[1])
  if lease ~= ARGV[1] and lease ~= ARGV[2] then return lease end
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return ''";

/// Stores challenges if the lease is the expected one; returns 1 then. `KEYS`: lease, challenges, active; `ARGV`: lease,
/// challenges, lifetime in milliseconds.
const PUBLISH: &str = "\
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
redis.call('SET', KEYS[3], '1', 'PX', ARGV[3])
return 1";

/// Stores a certificate and releases the lease, if the lease is the expected one; returns 1 then. `KEYS`: lease, certificate,
/// challenges, changes; `ARGV`: lease, certificate, lifetime in milliseconds, mark of the change, maximum length of the changes.
const STORE: &str = "\
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
redis.call('DEL', KEYS[3], KEYS[1])
local length, changes = redis.pcall('STRLEN', KEYS[4]), ''
if type(length) == 'number' and length <= tonumber(ARGV[5]) then changes = redis.call('GET', KEYS[4]) or '' end
redis.call('SET', KEYS[4], string.sub(changes .. ARGV[4], -ARGV[5]))
return 1";

/// Closes an order that has no certificate, if the lease is the expected one: replaces the lease by a pause, or removes it.
/// `KEYS`: lease, challenges; `ARGV`: lease, pause, empty for none, duration of the pause in milliseconds.
const CLOSE: &str = "\
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[2], KEYS[1])
if ARGV[2] ~= '' then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1";

/// Replaces a certificate if it is the expected one; returns 1 then. `KEYS`: certificate, changes; `ARGV`: expected value,
/// empty for none, new value, lifetime in milliseconds, mark of the change, maximum length of the changes.
const REPLACE: &str = "\
local old = redis.pcall('GET', KEYS[1])
if type(old) ~= 'string' then old = '' end
if old ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
local length, changes = redis.pcall('STRLEN', KEYS[2]), ''
if type(length) == 'number' and length <= tonumber(ARGV[5]) then changes = redis.call('GET', KEYS[2]) or '' end
redis.call('SET', KEYS[2], string.sub(changes .. ARGV[4], -ARGV[5]))
return 1";

/// Returns a value; an empty one if it is missing, too long, or of another type. `KEYS`: value; `ARGV`: maximum length.
const READ: &str = "\
local size = redis.pcall('STRLEN', KEYS[1])
if type(size) ~= 'number' or size > tonumber(ARGV[1]) then return '' end
return redis.call('GET', KEYS[1]) or ''";

/// Returns the marks of the last changes, and 1; if the last mark is the known one, an empty text and 0. `KEYS`: changes;
/// `ARGV`: last known mark, maximum length.
const CHANGES: &str = "\
local length, changes = redis.pcall('STRLEN', KEYS[1]), ''
if type(length) == 'number' and length <= tonumber(ARGV[2]) then changes = redis.call('GET', KEYS[1]) or '' end
if string.sub(changes, -64) == ARGV[1] then return {'', 0} end
return {changes, 1}";

/// Returns the pending challenges if an order is in progress, each after its index. `KEYS`: active, challenges of each
/// certificate; `ARGV`: maximum length of all challenges.
const POLL: &str = "\
local found = {}
if redis.call('EXISTS', KEYS[1]) == 0 then return found end
local left = tonumber(ARGV[1])
for i = 2, #KEYS do
  local length = redis.pcall('STRLEN', KEYS[i])
  if type(length) == 'number' and length > 0 then
    left = left - length
    if left >= 0 then
      found[#found + 1] = i - 2
      found[#found + 1] = redis.call('GET', KEYS[i])
    end
  end
end
return found";

/// Lease that prevents an order.
pub(super) struct BlockingLease {
    /// Index in the leases of [`LeaseClaim`].
    pub index: usize,
    /// Value, which is not authenticated.
    pub value: Vec<u8>,
    /// Remaining time in milliseconds; 0 if the lease has expired.
    pub left_ms: u64,
}

/// Request for the lease of an order.
pub(super) struct LeaseClaim<'a> {
    /// Names of the order, and of other orders whose lease must be free. For each, the value of a lease that does not count.
    pub leases: &'a [(CertificateNames, Vec<u8>)],
    /// Value of the new lease.
    pub value: &'a [u8],
    /// Duration of the new lease in milliseconds.
    pub lease_ms: u64,
}

/// Reply to [`SecretConnection::claim`].
pub(super) struct ClaimReply {
    /// Encrypted certificate; empty if there is none.
    pub certificate: Vec<u8>,
    /// Lease that prevents the order; `None` if the lease was acquired.
    pub blocking: Option<BlockingLease>,
}

impl SecretConnection {
    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Reads the certificate of the first order of a claim, and acquires the lease of that order if all leases are free.
    ///
    /// # Errors
    /// As [`SecretConnection::agree`], as all methods.
    pub(super) async fn claim(&self, claim: &LeaseClaim<'_>) -> Result<ClaimReply, LinkError> {
        let LeaseClaim { leases, value, lease_ms } = claim;
        let Some((own, _)) = leases.first() else { return Err(unexpected().into()) };
        let mut command = cmd("EVAL");
        command.arg(CLAIM).arg(leases.len() + 1).arg(self.key(&own.certificate()));
        for (names, _) in *leases {
            command.arg(self.key(&names.lease()));
        }
        command.arg(*value).arg(lease_ms).arg(RETENTION_MS).arg(MAX_VALUE).arg(OrderLeaseRecord::MAX_BYTES);
        for (_, ignored) in *leases {
            command.arg(ignored.as_slice());
        }
        let reply: Value = command.query_async(&mut self.connection.clone()).await?;
        Ok(claim_reply(reply, leases.len())?)
    }

    /// Renews a lease for `lease_ms`. If another value replaces it that is not `ignored`, returns that value without effect.
    pub(super) async fn renew_order(
        &self,
        names: &CertificateNames,
        lease: &[u8],
        ignored: &[u8],
        lease_ms: u64,
    ) -> Result<Option<Vec<u8>>, LinkError> {
        let mut renew = cmd("EVAL");
        renew.arg(RENEW).arg(1).arg(self.key(&names.lease())).arg(lease).arg(ignored);
        renew.arg(lease_ms + RETENTION_MS).arg(OrderLeaseRecord::MAX_BYTES);
        let other: Vec<u8> = renew.query_async(&mut self.connection.clone()).await?;
        Ok(Some(other).filter(|other| !other.is_empty()))
    }

    /// Stores challenges for the other nodes. Returns false if the lease was lost.
    pub(super) async fn publish_challenges(
        &self,
        names: &CertificateNames,
        lease: &[u8],
        challenges: &[u8],
        lifetime_ms: u64,
    ) -> Result<bool, LinkError> {
        let mut publish = cmd("EVAL");
        publish.arg(PUBLISH).arg(3).arg(self.key(&names.lease())).arg(self.key(&names.challenges()));
        publish.arg(self.key("acme-active")).arg(lease).arg(challenges).arg(lifetime_ms);
        Ok(publish.query_async(&mut self.connection.clone()).await?)
    }

    /// Stores a certificate and releases the lease. Returns false if the lease was lost.
    pub(super) async fn store_certificate(
        &self,
        names: &CertificateNames,
        lease: &[u8],
        certificate: &[u8],
        lifetime_ms: u64,
        mark: &str,
    ) -> Result<bool, LinkError> {
        let mut store = cmd("EVAL");
        store.arg(STORE).arg(4).arg(self.key(&names.lease())).arg(self.key(&names.certificate()));
        store.arg(self.key(&names.challenges())).arg(self.key("acme-changes"));
        store.arg(lease).arg(certificate).arg(lifetime_ms).arg(mark).arg(CHANGES_LENGTH);
        Ok(store.query_async(&mut self.connection.clone()).await?)
    }

    /// Closes an order that has no certificate. Another node may acquire the lease after the pause, if there is one, which is
    /// encoded and has a duration in milliseconds.
    pub(super) async fn close_order(
        &self,
        names: &CertificateNames,
        lease: &[u8],
        (pause, pause_ms): (&[u8], u64),
    ) -> Result<(), LinkError> {
        let mut close = cmd("EVAL");
        close.arg(CLOSE).arg(2).arg(self.key(&names.lease())).arg(self.key(&names.challenges()));
        close.arg(lease).arg(pause).arg(pause_ms + RETENTION_MS);
        close.exec_async(&mut self.connection.clone()).await?;
        Ok(())
    }

    /// Replaces a certificate whose value is `expected`, empty for none. Returns false if the value is another one.
    pub(super) async fn replace_certificate(
        &self,
        names: &CertificateNames,
        expected: &[u8],
        certificate: &[u8],
        lifetime_ms: u64,
        mark: &str,
    ) -> Result<bool, LinkError> {
        let mut replace = cmd("EVAL");
        replace.arg(REPLACE).arg(2).arg(self.key(&names.certificate())).arg(self.key("acme-changes"));
        replace.arg(expected).arg(certificate).arg(lifetime_ms).arg(mark).arg(CHANGES_LENGTH);
        Ok(replace.query_async(&mut self.connection.clone()).await?)
    }

    /// Returns the encrypted certificate; empty if there is none.
    pub(super) async fn read_certificate(&self, names: &CertificateNames) -> Result<Vec<u8>, LinkError> {
        let mut read = cmd("EVAL");
        read.arg(READ).arg(1).arg(self.key(&names.certificate())).arg(MAX_VALUE);
        Ok(read.query_async(&mut self.connection.clone()).await?)
    }

    /// Returns the marks of the last changes of certificates; `None` if the last one is `known`.
    pub(super) async fn changes(&self, known: &[u8]) -> Result<Option<Vec<u8>>, LinkError> {
        let mut changes = cmd("EVAL");
        changes.arg(CHANGES).arg(1).arg(self.key("acme-changes")).arg(known).arg(CHANGES_LENGTH);
        let (marks, is_changed): (Vec<u8>, bool) = changes.query_async(&mut self.connection.clone()).await?;
        Ok(is_changed.then_some(marks))
    }

    /// Returns the encrypted pending challenges of these certificates, each with the index of its certificate.
    pub(super) async fn poll(
        &self,
        certificates: &[CertificateNames],
    ) -> Result<Vec<(usize, Vec<u8>)>, LinkError> {
        let mut poll = cmd("EVAL");
        poll.arg(POLL).arg(certificates.len() + 1).arg(self.key("acme-active"));
        for names in certificates {
            poll.arg(self.key(&names.challenges()));
        }
        poll.arg(MAX_CHALLENGES);
        let reply: Value = poll.query_async(&mut self.connection.clone()).await?;
        Ok(poll_reply(reply, certificates.len())?)
    }
}

fn claim_reply(reply: Value, count: usize) -> RedisResult<ClaimReply> {
    let Value::Array(parts) = reply else { return Err(unexpected()) };
    let Ok([certificate, Value::Int(number), lease, Value::Int(left)]) = <[Value; 4]>::try_from(parts) else {
        return Err(unexpected());
    };
    let blocking = match usize::try_from(number).map_err(|_| unexpected())? {
        0 => None,
        number if number > count => return Err(unexpected()),
        number => Some(BlockingLease {
            index: number - 1,
            value: bytes(lease)?,
            left_ms: left.max(0).cast_unsigned(),
        }),
    };
    Ok(ClaimReply { certificate: bytes(certificate)?, blocking })
}

fn poll_reply(reply: Value, count: usize) -> RedisResult<Vec<(usize, Vec<u8>)>> {
    let Value::Array(parts) = reply else { return Err(unexpected()) };
    let mut parts = parts.into_iter();
    let mut challenges = Vec::new();
    while let Some(index) = parts.next() {
        let (Value::Int(index), Some(value)) = (index, parts.next()) else { return Err(unexpected()) };
        let index = usize::try_from(index).ok().filter(|index| *index < count).ok_or_else(unexpected)?;
        challenges.push((index, bytes(value)?));
    }
    Ok(challenges)
}

fn bytes(value: Value) -> RedisResult<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Ok(bytes),
        _ => Err(unexpected()),
    }
}

fn unexpected() -> RedisError {
    (ErrorKind::UnexpectedReturnType, "unexpected reply to a script for certificates").into()
}
