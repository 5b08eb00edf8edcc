//! OPTIONS: supported methods of the location (RFC 4918 section 10.1).

use bytes::Bytes;
use myriad_exchange::exchange::{ContentResponse, PhaseStep};
use myriad_http::Method;
use myriad_net::ResponseBody;

use super::directives::ExtSettings;
use crate::dav::settings::DavSettings;

/// Methods that `dav_methods` and `dav_ext_methods` can enable, in the order of `Allow`.
const ALL: [Method; 9] = [
    Method::Put,
    Method::Delete,
    Method::Mkcol,
    Method::Copy,
    Method::Move,
    Method::Propfind,
    Method::Options,
    Method::Lock,
    Method::Unlock,
];

pub(in crate::dav) fn options(rules: &DavSettings, ext: &ExtSettings) -> PhaseStep {
    let mut answer = ContentResponse::new(200, ResponseBody::Full(Bytes::new()));
    // Class 2 means support of locks (RFC 4918 section 18.2).
    answer.field(b"DAV", if ext.methods.contains(Method::Lock) { b"1,2" } else { b"1" });
    let mut allow = b"GET,HEAD".to_vec();
    for method in ALL.into_iter().filter(|method| rules.methods.union(ext.methods).contains(*method)) {
        allow.push(b',');
        allow.extend_from_slice(method.as_str().as_bytes());
    }
    answer.field(b"Allow", &allow);
    PhaseStep::Answer(answer)
}
