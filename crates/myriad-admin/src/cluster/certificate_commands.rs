//! Commands for automatic certificates that the nodes share.

use myriad_cluster::record::CertificateNames;
use redis::{ErrorKind, RedisError, RedisResult, Value, cmd};

use super::link_error::LinkError;
use super::secret_commands::SecretConnection;

/// Maximum length of a value that a script returns, in bytes; longer ones were not written by Myriad and count as missing.
const MAX_VALUE: u32 = 524_288;
/// Maximum length of all challenges that are read at once, in bytes.
const MAX_CHALLENGES: u32 = 1 << 20;

/// Returns the certificate, and acquires the lease if no node has it: the number of the lease, or 0; its remaining time in
/// milliseconds otherwise; the number of failed orders; `1` if the time is a pause after a failed order. A lease that lasts for longer than `ARGV[3]` was not written by
/// Myriad and is ignored, and so is the pause after a failed order if `ARGV[6]` is `1`. `KEYS`: certificate, lease, fence;
/// `ARGV`: token, duration, maximum duration, known number, maximum length of the certificate, whether it ignores a pause.
const CLAIM: &str = "\
local value = ''
if redis.call('STRLEN', KEYS[1]) <= tonumber(ARGV[5]) then value = redis.call('GET', KEYS[1]) or '' end
local number, failures = string.match(redis.call('GET', KEYS[3]) or '', '^(%d+) (%d+)$')
number = math.max(tonumber(number) or 0, tonumber(ARGV[4])) + 1
failures = tonumber(failures) or 0
local left, pause = redis.call('PTTL', KEYS[2]), 0
if redis.call('GET', KEYS[2]) == 'failed' then pause = 1 end
if ARGV[6] == '1' and pause == 1 then left = 0 end
if left > 0 and left <= tonumber(ARGV[3]) then return {value, 0, left, failures, pause} end
redis.call('SET', KEYS[3], string.format('%.0f %.0f', number, failures))
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return {value, number, 0, failures, 0}";

/// Renews the lease if it still has the token. `KEYS`: lease; `ARGV`: token, duration in milliseconds.
const RENEW: &str = "\
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])";

/// Stores challenges if the lease still has the token; returns 1 then. `KEYS`: lease, challenges, active; `ARGV`: token,
/// challenges, lifetime in milliseconds.
const PUBLISH: &str = "\
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
redis.call('SET', KEYS[3], '1', 'PX', ARGV[3])
return 1";

/// Stores a certificate and releases the lease, if the lease still has the token; returns 1 then. `KEYS`: lease,
/// certificate, challenges, issued, fence; `ARGV`: token, certificate, lifetime in milliseconds, mark of the change,
/// contents of the fence.
const STORE: &str = "\
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
redis.call('DEL', KEYS[3], KEYS[1])
redis.call('SET', KEYS[4], ARGV[4])
redis.call('SET', KEYS[5], ARGV[5])
return 1";

/// Closes an order that has no certificate, if the lease still has the token: extends the lease by a pause, or releases it.
/// `KEYS`: lease, challenges, fence; `ARGV`: token, pause in milliseconds, contents of the fence.
const FAIL: &str = "\
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[2])
redis.call('SET', KEYS[3], ARGV[3])
if tonumber(ARGV[2]) > 0 then
  redis.call('SET', KEYS[1], 'failed', 'PX', ARGV[2])
else
  redis.call('DEL', KEYS[1])
end
return 1";

/// Replaces a certificate if it is the expected one; returns 1 then. `KEYS`: certificate, issued; `ARGV`: expected value,
/// empty for none, new value, lifetime in milliseconds, mark of the change.
const REPLACE: &str = "\
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('SET', KEYS[2], ARGV[4])
return 1";

/// Returns a value; an empty one if it is missing or too long. `KEYS`: value; `ARGV`: maximum length.
const READ: &str = "\
if redis.call('STRLEN', KEYS[1]) > tonumber(ARGV[1]) then return '' end
return redis.call('GET', KEYS[1]) or ''";

/// Returns the mark of the last change of a certificate, and if an order is in progress, the pending challenges, each after
/// its index. `KEYS`: issued, active, challenges of each certificate; `ARGV`: maximum length of all challenges.
const POLL: &str = "\
local found = {''}
if redis.call('STRLEN', KEYS[1]) <= 64 then found[1] = redis.call('GET', KEYS[1]) or '' end
if redis.call('EXISTS', KEYS[2]) == 0 then return found end
local left = tonumber(ARGV[1])
for i = 3, #KEYS do
  local length = redis.call('STRLEN', KEYS[i])
  left = left - length
  if length > 0 and left >= 0 then
    found[#found + 1] = i - 3
    found[#found + 1] = redis.call('GET', KEYS[i])
  end
end
return found";

/// Reply to [`SecretConnection::claim`].
pub(super) struct ClaimReply {
    /// Encrypted certificate; empty if there is none.
    pub certificate: Vec<u8>,
    /// Number of the acquired lease; 0 if another node has it.
    pub number: u64,
    /// Remaining time of another node's lease, in milliseconds.
    pub left_ms: u64,
    /// Number of successive orders that failed.
    pub failures: u32,
    /// True if `left_ms` is the pause after a failed order.
    pub is_pause: bool,
}

/// Reply to [`SecretConnection::poll`].
pub(super) struct PollReply {
    /// Mark of the last change of a certificate.
    pub issued: Vec<u8>,
    /// Encrypted challenges, each with the index of its certificate.
    pub challenges: Vec<(usize, Vec<u8>)>,
}

impl SecretConnection {
    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Reads a certificate, and acquires the lease of its order for `lease_ms` if it is free. `known` is the largest number
    /// of a lease that this node knows; `ignores_pause` is true if the lease counts as free in the pause after a failed order.
    ///
    /// # Errors
    /// As [`SecretConnection::agree`], as all methods.
    pub(super) async fn claim(
        &self,
        names: &CertificateNames,
        token: &str,
        (lease_ms, max_ms): (u64, u64),
        (known, ignores_pause): (u64, bool),
    ) -> Result<ClaimReply, LinkError> {
        let mut claim = cmd("EVAL");
        claim.arg(CLAIM).arg(3).arg(self.key(&names.certificate())).arg(self.key(&names.lease()));
        claim.arg(self.key(&names.fence())).arg(token).arg(lease_ms).arg(max_ms).arg(known).arg(MAX_VALUE);
        claim.arg(u8::from(ignores_pause));
        let reply: Value = claim.query_async(&mut self.connection.clone()).await?;
        match reply {
            Value::Array(parts) => match <[Value; 5]>::try_from(parts) {
                Ok(
                    [value, Value::Int(number), Value::Int(left), Value::Int(failures), Value::Int(pause)],
                ) => Ok(ClaimReply {
                    certificate: bytes(value)?,
                    number: number.max(0).cast_unsigned(),
                    left_ms: left.max(0).cast_unsigned(),
                    failures: failures.clamp(0, i64::from(u32::MAX)) as u32,
                    is_pause: pause == 1,
                }),
                _ => Err(unexpected().into()),
            },
            _ => Err(unexpected().into()),
        }
    }

    /// Renews a lease. Returns false if it was lost.
    pub(super) async fn renew_order(
        &self,
        names: &CertificateNames,
        token: &str,
        lease_ms: u64,
    ) -> Result<bool, LinkError> {
        let mut renew = cmd("EVAL");
        renew.arg(RENEW).arg(1).arg(self.key(&names.lease())).arg(token).arg(lease_ms);
        Ok(renew.query_async(&mut self.connection.clone()).await?)
    }

    /// Stores challenges for the other nodes. Returns false if the lease was lost.
    pub(super) async fn publish_challenges(
        &self,
        names: &CertificateNames,
        token: &str,
        challenges: &[u8],
        lifetime_ms: u64,
    ) -> Result<bool, LinkError> {
        let mut publish = cmd("EVAL");
        publish.arg(PUBLISH).arg(3).arg(self.key(&names.lease())).arg(self.key(&names.challenges()));
        publish.arg(self.key("acme-active")).arg(token).arg(challenges).arg(lifetime_ms);
        Ok(publish.query_async(&mut self.connection.clone()).await?)
    }

    /// Stores a certificate and releases the lease with this number. Returns false if the lease was lost.
    pub(super) async fn store_certificate(
        &self,
        names: &CertificateNames,
        (token, number): (&str, u64),
        certificate: &[u8],
        lifetime_ms: u64,
        mark: &str,
    ) -> Result<bool, LinkError> {
        let mut store = cmd("EVAL");
        store.arg(STORE).arg(5).arg(self.key(&names.lease())).arg(self.key(&names.certificate()));
        store.arg(self.key(&names.challenges())).arg(self.key("acme-issued")).arg(self.key(&names.fence()));
        store.arg(token).arg(certificate).arg(lifetime_ms).arg(mark).arg(format!("{number} 0"));
        Ok(store.query_async(&mut self.connection.clone()).await?)
    }

    /// Closes an order that has no certificate. Another node may acquire the lease after the pause.
    pub(super) async fn end_order(
        &self,
        names: &CertificateNames,
        (token, number): (&str, u64),
        pause_ms: u64,
        failures: u32,
    ) -> Result<(), LinkError> {
        let mut fail = cmd("EVAL");
        fail.arg(FAIL).arg(3).arg(self.key(&names.lease())).arg(self.key(&names.challenges()));
        fail.arg(self.key(&names.fence())).arg(token).arg(pause_ms).arg(format!("{number} {failures}"));
        fail.exec_async(&mut self.connection.clone()).await?;
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
        replace.arg(REPLACE).arg(2).arg(self.key(&names.certificate())).arg(self.key("acme-issued"));
        replace.arg(expected).arg(certificate).arg(lifetime_ms).arg(mark);
        Ok(replace.query_async(&mut self.connection.clone()).await?)
    }

    /// Returns the encrypted certificate; empty if there is none.
    pub(super) async fn read_certificate(&self, names: &CertificateNames) -> Result<Vec<u8>, LinkError> {
        let mut read = cmd("EVAL");
        read.arg(READ).arg(1).arg(self.key(&names.certificate())).arg(MAX_VALUE);
        Ok(read.query_async(&mut self.connection.clone()).await?)
    }

    /// Returns the mark of the last change, and the pending challenges of these certificates.
    pub(super) async fn poll(&self, certificates: &[CertificateNames]) -> Result<PollReply, LinkError> {
        let mut poll = cmd("EVAL");
        poll.arg(POLL).arg(certificates.len() + 2).arg(self.key("acme-issued")).arg(self.key("acme-active"));
        for names in certificates {
            poll.arg(self.key(&names.challenges()));
        }
        poll.arg(MAX_CHALLENGES);
        let reply: Value = poll.query_async(&mut self.connection.clone()).await?;
        Ok(poll_reply(reply, certificates.len())?)
    }
}

fn poll_reply(reply: Value, count: usize) -> RedisResult<PollReply> {
    let Value::Array(parts) = reply else { return Err(unexpected()) };
    let mut parts = parts.into_iter();
    let issued = bytes(parts.next().ok_or_else(unexpected)?)?;
    let mut challenges = Vec::new();
    while let Some(index) = parts.next() {
        let (Value::Int(index), Some(value)) = (index, parts.next()) else { return Err(unexpected()) };
        let index = usize::try_from(index).ok().filter(|index| *index < count).ok_or_else(unexpected)?;
        challenges.push((index, bytes(value)?));
    }
    Ok(PollReply { issued, challenges })
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
