//! Error of a connection to Valkey.

use redis::RedisError;

/// Reason why a connection failed, or a command got no reply.
#[derive(Debug)]
pub(super) struct LinkError(pub String);

impl From<RedisError> for LinkError {
    fn from(error: RedisError) -> Self {
        Self(error.to_string())
    }
}
