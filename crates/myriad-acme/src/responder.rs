//! A responder of OCSP asked once (RFC 6960 appendix A.1).

use std::net::IpAddr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use myriad_x509::OcspId;

use crate::https::{Resolve, get_plain};

/// What an answer must be.
const CONTENT_TYPE: &[u8] = b"application/ocsp-response";

/// Why there is no answer.
pub(crate) enum Unanswered {
    /// Nothing came, whatever was asked.
    Connection(String),
    /// What came is no answer.
    Reply(String),
}

/// Asks the responder at a URL of plain HTTP about a certificate. The answer, in DER, has yet to prove itself. Bounds are those of
/// [`get_plain`]; `worked` is the address that is tried first, and is told which answered.
pub(crate) fn ask(
    id: &OcspId,
    url: &str,
    resolve: &Resolve,
    worked: &mut Option<IpAddr>,
) -> Result<Vec<u8>, Unanswered> {
    // As a part of a path, which caches between understand.
    let text = BASE64_STANDARD.encode(id.request());
    let text = text.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    let reply = get_plain(url, &text, OcspId::LARGEST, resolve, worked).map_err(Unanswered::Connection)?;
    if reply.status != 200 {
        return Err(Unanswered::Reply(format!("it answered {}", reply.status)));
    }
    let kind = reply.field("content-type").unwrap_or_default();
    if !kind.get(..CONTENT_TYPE.len()).is_some_and(|kind| kind.eq_ignore_ascii_case(CONTENT_TYPE)) {
        let kind = String::from_utf8_lossy(kind).escape_debug().to_string();
        return Err(Unanswered::Reply(format!("it sent an invalid \"Content-Type\" header: \"{kind}\"")));
    }
    Ok(reply.body)
}
