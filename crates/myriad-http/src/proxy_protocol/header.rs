//! What a header says, and how far it has come.

use std::net::SocketAddr;

/// The longest header, bytes, as in nginx. Version 1 ends by 107 (section 2.1); version 2 grows with its TLVs.
pub const LONGEST: usize = 4096;

/// What was said of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyHeader {
    /// The client.
    pub source: SocketAddr,
    /// The address that it connected to.
    pub destination: SocketAddr,
    /// Version 2's further facts, as they came; asked by [`ProxyHeader::tlv`].
    pub(super) tlvs: Box<[u8]>,
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
