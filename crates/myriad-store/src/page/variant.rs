//! Variant of a page that a request selects.

use myriad_http::Fields;
use myriad_policy::VaryRule;

/// Variant that no stored page has, for requests whose fields are too long. It is the only variant of one byte, because
/// a field's name is followed by NUL.
pub const NO_VARIANT: &[u8] = b"\xff";

/// Derives a request's variant from the names in the page's `Vary`.
pub fn write_variant(selector: &[u8], fields: &Fields, variant: &mut Vec<u8>) {
    if let Ok(rule) = VaryRule::parse([selector])
        && rule.write_variant(fields, variant).is_err()
    {
        // Too long to store: the variant that no stored page has.
        variant.extend_from_slice(NO_VARIANT);
    }
}
