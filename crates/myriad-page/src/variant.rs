//! Which variant of a page a request asks for.

use myriad_http::Fields;
use myriad_policy::VaryRule;

/// What stands for a variant that cannot be told. No other is of one byte: a field's name has NUL behind it.
pub const NO_VARIANT: &[u8] = b"\xff";

/// Derives a request's variant from the field names that a stored page varies by.
pub fn write_variant(selector: &[u8], fields: &Fields, variant: &mut Vec<u8>) {
    if let Ok(rule) = VaryRule::parse([selector])
        && rule.write_variant(fields, variant).is_err()
    {
        // Too long to be told apart from others: a variant that no stored page bears.
        variant.extend_from_slice(NO_VARIANT);
    }
}
