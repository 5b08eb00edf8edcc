//! `resolver`.

use crate::text::Text;

/// Name servers for names that are known only when a request comes. Times in ms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolverSettings {
    /// Addresses or names, each with or without a port (53); at least one.
    pub servers: Vec<Text>,
    /// `valid=`: how long an answer holds, whatever its TTL.
    pub valid: Option<u64>,
    /// `ipv4=`.
    pub ipv4: bool,
    /// `ipv6=`.
    pub ipv6: bool,
}
