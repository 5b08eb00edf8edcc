//! The length of a body, where the environment has to tell it.

use myriad_upstream::RequestPayload;

/// Bytes of a body; none where it is not known before its end.
pub(crate) fn length(payload: &RequestPayload) -> Option<u64> {
    match payload {
        RequestPayload::Empty => Some(0),
        RequestPayload::Bytes(bytes) => Some(bytes.len() as u64),
        RequestPayload::Again(_, length) => Some(*length),
        RequestPayload::Stream(_, length) => *length,
    }
}
