//! Variant of a page that matches a request.

use myriad_http::Fields;
use myriad_policy::VaryRule;

/// Variant that no stored page has, used for requests whose values are too long. Other variants are longer than one
/// byte, because a field name in a variant is followed by NUL.
pub const NO_VARIANT: &[u8] = b"\xff";

/// Appends a request's variant for a page whose `Vary` lists the field names in `selector`: [`NO_VARIANT`] if the
/// values are too long, and nothing if `selector` is invalid.
pub fn write_variant(selector: &[u8], fields: &Fields, variant: &mut Vec<u8>) {
    if let Ok(rule) = VaryRule::parse([selector])
        && rule.write_variant(fields, variant).is_err()
    {
        // The values are too long to be stored, so no page may match.
        variant.extend_from_slice(NO_VARIANT);
    }
}
