//! The head of an answer as the visitor gets it.

use std::borrow::Cow;

use bytes::Bytes;
use myriad_http::{Fields, Known, ResponseHead};
use myriad_net::ResponseBody;

use crate::nominated::Nominated;
use myriad_exchange::exchange::Answer;
use myriad_exchange::runtime::{AnswerRules, OriginPlace};

/// The head of an answer as the visitor gets it, its body to be set. `own` passes what belongs to this visitor alone.
pub fn answer(head: &ResponseHead, origin: &OriginPlace, own: bool) -> Answer {
    let mut answer = Answer::new(head.status, ResponseBody::Full(Bytes::new()));
    answer.judged = true;
    if !head.reason.is_empty() && head.reason != myriad_http::head::reason_phrase(head.status).as_bytes() {
        answer.reason = std::str::from_utf8(&head.reason).ok().map(Into::into);
    }
    answer.lines.reserve(head.fields.size());
    let nominated = Nominated::of(&head.fields);
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
    // What the origin has coded, in whatever way, is not coded again.
    answer.compressible = coding.is_none_or(<[u8]>::is_empty);
    answer
}

/// `X-Accel-Charset` becomes the charset of the media type.
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

/// Bytes a second that `X-Accel-Limit-Rate` allows.
pub(super) fn accel_rate(rules: &AnswerRules, fields: &Fields) -> Option<u64> {
    let value = fields.known(Known::XAccelLimitRate).filter(|_| !rules.ignore_accel.limit_rate)?;
    myriad_exchange::exchange::size::parse_size(value)
}
