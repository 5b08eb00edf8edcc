//! Tables of visitors: `limit_req_zone`, `limit_conn_zone`.

use crate::{span::Span, text::Text};

/// What a zone counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// `limit_req_zone`: requests in time, at most this many thousandths a second.
    Requests {
        /// `rate=`, thousandths of a request a second, at least 1.
        rate: u64,
    },
    /// `limit_conn_zone`: requests at once.
    Connections,
}

/// A zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitZoneConf {
    /// `zone=NAME:…`.
    pub name: String,
    /// What visitors are told apart by; holds variables.
    pub key: Text,
    /// `zone=…:SIZE`, bytes.
    pub size: u64,
    /// What is counted.
    pub kind: LimitKind,
    /// The directive.
    pub span: Span,
}
