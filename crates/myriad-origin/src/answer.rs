//! Conversion of the head of an origin's response to the head that the client receives.

use std::borrow::Cow;

use bytes::Bytes;
use myriad_http::{Fields, Known, ResponseHead};
use myriad_net::ResponseBody;

use crate::connection_listed_fields::ConnectionListedFields;
use myriad_exchange::exchange::ContentResponse;
use myriad_exchange::runtime::{AnswerRules, OriginPlace};

/// Builds the response for the client from the head of an origin's response. The caller sets the body, which is empty
/// here. Omits fields that the location hides and hop-by-hop fields; if `own` is false, also fields that are private to
/// one client, such as `Set-Cookie`.
pub fn client_response(head: &ResponseHead, origin: &OriginPlace, own: bool) -> ContentResponse {
    let mut answer = ContentResponse::new(head.status, ResponseBody::Full(Bytes::new()));
    answer.conditions_evaluated = true;
    if !head.reason.is_empty() && head.reason != myriad_http::head::reason_phrase(head.status).as_bytes() {
        answer.reason = std::str::from_utf8(&head.reason).ok().map(Into::into);
    }
    answer.lines.reserve(head.fields.size());
    let nominated = ConnectionListedFields::of(&head.fields);
    for (known, name, value) in head.fields.iter_known() {
        if nominated.has(name) {
            continue;
        }
        if known == Some(Known::ContentType) {
            answer.media_type = Some(Cow::Owned(with_charset(value, &origin.answer, &head.fields)));
        } else if origin.passes(known, name, own) {
            answer.field(name, value);
        }
    }
    answer.limit_rate = accel_rate(&origin.answer, &head.fields);
    answer.own_head = origin.answer.passes_head;
    let coding = head.known(Known::ContentEncoding);
    // A response that already has a `Content-Encoding` is not compressed again.
    answer.compressible = coding.is_none_or(<[u8]>::is_empty);
    answer
}

/// Returns the media type with the charset in `X-Accel-Charset` appended, unless the media type already has a charset
/// or the field is ignored.
fn with_charset(media_type: &[u8], rules: &AnswerRules, fields: &Fields) -> Vec<u8> {
    let mut media_type = media_type.to_vec();
    let charset = fields.known(Known::XAccelCharset).filter(|_| !rules.ignore_accel.charset);
    if let Some(charset) = charset
        && !media_type.to_ascii_lowercase().windows(8).any(|window| window == b"charset=")
    {
        media_type.extend_from_slice(b"; charset=");
        media_type.extend_from_slice(charset);
    }
    media_type
}

/// Returns the rate in `X-Accel-Limit-Rate` in bytes per second; `None` without a valid rate or if the field is
/// ignored.
pub(super) fn accel_rate(rules: &AnswerRules, fields: &Fields) -> Option<u64> {
    let value = fields.known(Known::XAccelLimitRate).filter(|_| !rules.ignore_accel.limit_rate)?;
    myriad_exchange::exchange::size::parse_size(value)
}
