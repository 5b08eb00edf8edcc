//! Length of a request body for the environment.

use myriad_upstream::RequestPayload;

/// Returns the length of a request body in bytes; `None` if it is not known in advance.
pub(crate) fn length(payload: &RequestPayload) -> Option<u64> {
    match payload {
        RequestPayload::Empty => Some(0),
        RequestPayload::Bytes(bytes) => Some(bytes.len() as u64),
        RequestPayload::Again(_, length) => Some(*length),
        RequestPayload::Stream(_, length) => *length,
    }
}
