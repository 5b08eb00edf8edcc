//! Variant (secondary key) to which a response belongs (RFC 9111 section 4.1).

use myriad_http::Fields;
use myriad_policy::{CachePolicy, SharedFetchFields, VaryRule};
use myriad_store::Selection;

use myriad_store::page::{NO_VARIANT, write_variant};

/// Returns the secondary key of a response with these header fields; `None` if it does not vary, or if `Vary` is
/// ignored or invalid.
///
/// The key contains the values of the fields that `Vary` names, as the origin got them: the values in `shared_headers`
/// or, if that is `None`, in `requested`, the fields of the client's request. `is_for_other_codings` is true under the
/// key for other codings.
pub(crate) fn selection(
    fields: &Fields,
    rules: &CachePolicy,
    requested: &Fields,
    shared_headers: Option<&SharedFetchFields>,
    is_for_other_codings: bool,
) -> Option<Selection> {
    if rules.ignore.vary {
        return None;
    }
    let mut rule = VaryRule::of(fields, rules).ok()?;
    if let Some(told) = shared_headers {
        rule = rule.and(&told.varies);
    }
    let rule =
        Some(if is_for_other_codings { rule.by_codings() } else { rule }).filter(|rule| !rule.is_empty())?;
    let selector = rule.names().collect::<Vec<_>>().join(&b","[..]);
    let mut variant = Vec::new();
    let sent = shared_headers.map_or(requested, |told| &told.fields);
    write_variant(&selector, sent, &mut variant);
    Some(Selection { selector: selector.into(), variant: variant.into() })
}

/// Returns whether the values of the request fields that `Vary` names are too long to identify the variant; false
/// without a secondary key.
pub(crate) fn is_too_long(selection: Option<&Selection>) -> bool {
    selection.is_some_and(|selection| *selection.variant == *NO_VARIANT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_policy::IgnoreHeaders;

    /// Returns the secondary key of a response with this `Vary` to a request with these fields.
    fn selected(rules: &CachePolicy, vary: &str, fields: &[(&str, &str)]) -> Option<Selection> {
        let requested: Fields = fields.iter().copied().collect();
        let answer: Fields = [("Vary", vary)].into_iter().collect();
        selection(&answer, rules, &requested, None, false)
    }

    fn rules() -> CachePolicy {
        CachePolicy::default()
    }

    #[test]
    fn answer_is_the_variant_of_the_fields_that_it_varies_by() {
        let german = selected(&rules(), "Accept-Language", &[("Accept-Language", "de")]).expect("a variant");
        assert_eq!(*german.selector, *b"accept-language");
        let french = selected(&rules(), "Accept-Language", &[("Accept-Language", "fr")]).expect("a variant");
        assert_ne!(german.variant, french.variant);
    }

    #[test]
    fn answer_without_vary_or_with_one_that_is_ignored_has_one_variant() {
        assert!(selected(&rules(), "", &[]).is_none());
        let ignore = IgnoreHeaders { vary: true, ..IgnoreHeaders::default() };
        let ignoring = CachePolicy { ignore, ..rules() };
        assert!(selected(&ignoring, "Accept-Language", &[]).is_none());
    }

    #[test]
    fn overlong_vary_field_makes_selection_indistinguishable() {
        let long = "x".repeat(1 << 20);
        let selection = selected(&rules(), "X-Long", &[("X-Long", &long)]);
        assert!(is_too_long(selection.as_ref()));
        assert!(!is_too_long(selected(&rules(), "X-Long", &[("X-Long", "x")]).as_ref()));
        assert!(!is_too_long(None));
    }
}
