//! Proxies that are trusted to report the address of the client (`set_real_ip_from`).

use super::Network;

/// Part of a request in which a trusted proxy reports the client's address (`real_ip_header`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RealIpSource {
    /// `X-Forwarded-For`, whose last address counts, or with `recursive` the last that is not trusted (the first
    /// address if all are trusted).
    #[default]
    ForwardedFor,
    /// PROXY protocol header of the connection.
    ProxyProtocol,
    /// Header field with this name, other than `X-Forwarded-For`.
    Field(String),
}

/// `set_real_ip_from`, `real_ip_header` and `real_ip_recursive` of a location.
pub struct RealIp {
    /// `set_real_ip_from`: networks of proxies that are trusted to report the client's address.
    pub from: Vec<Network>,
    /// `real_ip_header`: part of the request in which the proxy reports the client's address.
    pub source: RealIpSource,
    /// `real_ip_recursive`: addresses of trusted proxies in the list are skipped.
    pub recursive: bool,
}
