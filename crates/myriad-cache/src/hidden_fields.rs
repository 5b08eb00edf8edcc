//! Request header fields that are not forwarded to the origin because the client's `Connection` lists them.

use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::OriginPlace;

/// Returns whether a header field of the client is not forwarded to the origin because `Connection` lists it. False if
/// the location forwards no fields of the client.
///
/// The cache key or the secondary key may contain the field, although the origin did not get it. The stored page would
/// then be wrong for clients that send the same value without listing the field in `Connection`.
pub(crate) fn hides_fields(request: &Request, origin: &OriginPlace) -> bool {
    origin.request.pass_fields && origin.protocol.hides_nominated(request)
}
