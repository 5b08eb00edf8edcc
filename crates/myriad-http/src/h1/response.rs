//! Response heads, as a client of an origin reads them: lenient where nginx is.

use super::{HeadLimits, Parsed};
use crate::{Fields, ParseError, ResponseHead};

/// Reads a response head from the beginning of `buf` into `out`; interim responses (1xx) are heads like others.
///
/// Field values may hold control bytes other than NUL, CR and LF, and a line without a colon is passed over, as
/// nginx does with origins. Everything else that is wrong is an error, to be answered with 502.
pub fn parse_response(
    _buf: &[u8],
    _limits: &HeadLimits,
    _out: &mut ResponseHead,
) -> Result<Parsed, ParseError> {
    Ok(Parsed::Partial)
}

/// Reads field lines up to and with the empty line from the beginning of `buf`, appending to `out`, with the rules of
/// [`parse_response`]: the head of a CGI response, for instance. `out` is only changed when the block is complete.
pub fn parse_field_block(_buf: &[u8], _limits: &HeadLimits, _out: &mut Fields) -> Result<Parsed, ParseError> {
    Ok(Parsed::Partial)
}
