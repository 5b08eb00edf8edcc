//! Commands for the encrypted values that the nodes share: keys of session tickets, keys of accounts.

use redis::aio::MultiplexedConnection;
use redis::cmd;

use super::link_error::LinkError;

/// Stores a value unless one with this name exists, and returns the value that is stored. A value of more than 512 KB was
/// not written by Myriad and is returned as an empty one. `KEYS`: name; `ARGV`: value, lifetime in milliseconds.
const AGREE: &str = "\
if redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') then return ARGV[1] end
local size = redis.pcall('STRLEN', KEYS[1])
if type(size) ~= 'number' or size > 524288 then return '' end
return redis.call('GET', KEYS[1])";

/// Connection for encrypted values.
#[derive(Clone)]
pub(super) struct SecretConnection {
    pub connection: MultiplexedConnection,
    /// Prefix of the cluster's keys.
    pub prefix: String,
}

impl SecretConnection {
    /// Proposes a value for a name, and returns the value on which the nodes agree: the first one that was proposed since
    /// the last one has expired.
    ///
    /// # Errors
    /// Returns an error if the connection is lost, or the server refuses the command or does not reply in time.
    pub(super) async fn agree(
        &self,
        name: &str,
        value: &[u8],
        lifetime_ms: u64,
    ) -> Result<Vec<u8>, LinkError> {
        let mut agree = cmd("EVAL");
        agree.arg(AGREE).arg(1).arg(format!("{}{name}", self.prefix)).arg(value).arg(lifetime_ms);
        Ok(agree.query_async(&mut self.connection.clone()).await?)
    }
}
