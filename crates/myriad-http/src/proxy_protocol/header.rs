//! Parsed PROXY header and parser state.

use std::net::SocketAddr;

/// Maximum length of a header in bytes, as in nginx. Version 1 has at most 107 bytes (section 2.1); version 2 grows
/// with its TLVs.
pub const LONGEST: usize = 4096;

/// Information about the client in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyHeader {
    /// Address of the client.
    pub source: SocketAddr,
    /// Address that the client connected to.
    pub destination: SocketAddr,
    /// TLVs of version 2 as received; [`ProxyHeader::tlv`] reads them.
    pub(super) tlvs: Box<[u8]>,
}

/// Result of parsing the start of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderParseStatus {
    /// More bytes are needed. Never returned once [`LONGEST`] bytes are available.
    Partial,
    /// Length of the header in bytes, and the header. `None` means that the connection originates from the balancer
    /// itself or has an unsupported address family.
    Complete(usize, Option<Box<ProxyHeader>>),
}

/// The connection does not begin with a header, or the header is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidProxyHeader;
