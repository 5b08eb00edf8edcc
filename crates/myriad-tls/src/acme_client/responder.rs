//! Query of an OCSP responder (RFC 6960 appendix A.1).

use std::net::IpAddr;

use crate::x509::OcspId;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::acme_client::https::{Resolve, get_plain};

/// Required content type of an OCSP response.
const CONTENT_TYPE: &[u8] = b"application/ocsp-response";

/// Reason why the query of an OCSP responder gave no OCSP response.
pub(crate) enum ResponderError {
    /// No complete HTTP response was received, for example because of an invalid URL, an unresolved name, a timeout or
    /// a response that is too large; the text is the reason.
    Connection(String),
    /// The HTTP response is not an OCSP response, by its status or content type; the text is the reason.
    Reply(String),
}

/// Queries the responder at an http URL for a certificate. The OCSP response, in DER, is not verified yet. The limits
/// are those of [`get_plain`]; `worked` is the address that is tried first, and set to the address that responded with
/// status 200. Fails if no complete response is received, or if its status is not 200 or its content type not that of
/// an OCSP response.
pub(crate) fn query_responder(
    id: &OcspId,
    url: &str,
    resolve: &Resolve,
    worked: &mut Option<IpAddr>,
) -> Result<Vec<u8>, ResponderError> {
    // Encoded in the path, which intermediate caches support.
    let text = BASE64_STANDARD.encode(id.request());
    let text = text.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    let reply =
        get_plain(url, &text, OcspId::LARGEST, resolve, worked).map_err(ResponderError::Connection)?;
    if reply.status != 200 {
        return Err(ResponderError::Reply(format!("it responded with status {}", reply.status)));
    }
    let kind = reply.field("content-type").unwrap_or_default();
    if !kind.get(..CONTENT_TYPE.len()).is_some_and(|kind| kind.eq_ignore_ascii_case(CONTENT_TYPE)) {
        let kind = String::from_utf8_lossy(kind).escape_debug().to_string();
        return Err(ResponderError::Reply(format!("it sent an invalid \"Content-Type\" header: \"{kind}\"")));
    }
    Ok(reply.body)
}
