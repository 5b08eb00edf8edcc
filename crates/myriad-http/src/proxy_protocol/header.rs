//! Parsed PROXY header.

use std::net::SocketAddr;

/// Maximum length of a PROXY header in bytes, as in nginx. Headers of version 1 have at most 107 bytes (section 2.1);
/// those of version 2 grow with their TLVs (optional type-length-value fields).
pub const LONGEST: usize = 4096;

/// Data about the client in a PROXY header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyHeader {
    /// Address of the client.
    pub source: SocketAddr,
    /// Address to which the client connected.
    pub destination: SocketAddr,
    /// TLVs of a version 2 header, as received; [`ProxyHeader::tlv`] parses them.
    pub(super) tlvs: Box<[u8]>,
}

/// Result of parsing the start of a connection by [`parse`](super::parse).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderParseStatus {
    /// More bytes are needed. Not returned once [`LONGEST`] bytes are available.
    Partial,
    /// Length of the header in bytes, and the header. `None` if the header describes no TCP client over IPv4 or IPv6: a
    /// connection of the balancer itself, an unknown or other address family, or not a stream.
    Complete(usize, Option<Box<ProxyHeader>>),
}

/// Error: the connection does not start with a header, or the header is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidProxyHeader;
