//! PROXY protocol: data about a client that a load balancer sends before the first byte of the client (HAProxy's
//! `proxy-protocol.txt`, versions 1 and 2).

mod header;
mod tlv;
mod v1;
mod v2;

pub use header::{HeaderParseStatus, InvalidProxyHeader, LONGEST, ProxyHeader};
pub use tlv::Tlv;
pub use v1::version_1_line;

/// Parses a PROXY protocol header of version 1 or 2 at the start of a connection, of which `bytes` has arrived.
pub fn parse(bytes: &[u8]) -> Result<HeaderParseStatus, InvalidProxyHeader> {
    let begins = |signature: &[u8]| {
        let length = bytes.len().min(signature.len());
        bytes[..length] == signature[..length]
    };
    if bytes.is_empty() {
        return Ok(HeaderParseStatus::Partial);
    }
    if begins(v2::SIGNATURE) {
        return v2::parse(bytes);
    }
    if begins(v1::SIGNATURE) {
        return v1::parse(bytes);
    }
    Err(InvalidProxyHeader)
}

#[cfg(test)]
mod tests;
