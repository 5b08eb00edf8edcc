//! The PROXY protocol: what a load balancer says of the client before the client's own first byte (HAProxy's
//! `proxy-protocol.txt`, versions 1 and 2).

mod tlv;
mod v1;
mod v2;

use std::net::SocketAddr;

pub use tlv::Tlv;

/// The longest header, bytes, as in nginx. Version 1 ends by 107 (section 2.1); version 2 grows with its TLVs.
pub const LONGEST: usize = 4096;

/// What was said of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyHeader {
    /// The client.
    pub source: SocketAddr,
    /// Where it connected to.
    pub destination: SocketAddr,
    /// Version 2's further facts, as they came; asked by [`ProxyHeader::tlv`].
    tlvs: Box<[u8]>,
}

/// How far a header has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preface {
    /// More is to come; never once [`LONGEST`] bytes are there.
    Partial,
    /// It is so many bytes long. None: the connection is the balancer's own, or of a kind that is not told.
    Complete(usize, Option<Box<ProxyHeader>>),
}

/// The connection does not begin with a header, or with one that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenHeader;

/// Reads the header at the start of a connection.
pub fn parse(bytes: &[u8]) -> Result<Preface, BrokenHeader> {
    let begins = |signature: &[u8]| {
        let length = bytes.len().min(signature.len());
        bytes[..length] == signature[..length]
    };
    if bytes.is_empty() {
        return Ok(Preface::Partial);
    }
    if begins(v2::SIGNATURE) {
        return v2::parse(bytes);
    }
    if begins(v1::SIGNATURE) {
        return v1::parse(bytes);
    }
    Err(BrokenHeader)
}

#[cfg(test)]
mod tests;
