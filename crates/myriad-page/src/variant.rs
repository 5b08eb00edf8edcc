//! Variants: which one of a page a request asks for.

use myriad_http::Fields;
use myriad_policy::VaryRule;

/// Variant that no stored page has, for requests whose fields are too long. No other has one byte: a field's name ends with
/// NUL.
pub const NO_VARIANT: &[u8] = b"\xff";

/// Derives a request's variant from the names in the page's `Vary`.
pub fn write_variant(selector: &[u8], fields: &Fields, variant: &mut Vec<u8>) {
    if let Ok(rule) = VaryRule::parse([selector])
        && rule.write_variant(fields, variant).is_err()
    {
        // Too long to be kept: the variant that no stored page has.
        variant.extend_from_slice(NO_VARIANT);
    }
}
