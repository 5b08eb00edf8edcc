//! Parsing of numbers as in nginx: only digits.

use myriad_base::digits::decimal;

use crate::functions::function::FunctionError;

/// Parses a number. Returns an error unless the text consists of digits and the number fits into 63 bits; `what` is the
/// name of the value in its message.
pub(crate) fn number(text: &[u8], what: &str) -> Result<i64, FunctionError> {
    decimal(text).ok_or_else(|| FunctionError::bad(what, text))
}

/// Parses the two bounds of a range, in any order, and returns the lower one first.
pub(crate) fn range(from: &[u8], to: &[u8]) -> Result<(i64, i64), FunctionError> {
    let (from, to) = (number(from, "\"from\" argument")?, number(to, "\"to\" argument")?);
    Ok((from.min(to), from.max(to)))
}
