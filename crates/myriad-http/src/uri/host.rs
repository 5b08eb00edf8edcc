//! Hosts, validated as nginx's `ngx_http_validate_host` does.

use super::UriError;

/// A valid host: name or address in lower case without a trailing dot, IPv6 in its brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host<'a> {
    /// The name; borrowed where it was in lower case already.
    pub name: std::borrow::Cow<'a, [u8]>,
    /// The port, where one was given.
    pub port: Option<u16>,
}

/// Reads `host[:port]` of a `Host` field or an absolute-form target.
pub fn parse_host(_value: &[u8]) -> Result<Host<'_>, UriError> {
    Err(UriError::InvalidHost)
}
