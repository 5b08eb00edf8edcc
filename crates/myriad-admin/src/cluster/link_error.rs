//! Error of a connection to Valkey.

use redis::RedisError;

/// Reason why a connection failed, or a command got no reply.
#[derive(Debug)]
pub(super) struct LinkError {
    pub why: String,
    /// True if the connection cannot be used any more.
    pub is_connection_lost: bool,
}

impl LinkError {
    /// Creates an error that does not concern an open connection.
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_connection_lost: false }
    }
}

impl From<RedisError> for LinkError {
    fn from(error: RedisError) -> Self {
        let is_connection_lost = error.is_connection_dropped() || error.is_unrecoverable_error();
        Self { why: error.to_string(), is_connection_lost }
    }
}
