//! Readable form of variant keys, for reports.

use std::borrow::Cow;

use super::{BY_CODINGS, BY_DEVICE};
use crate::device;

/// Splits a variant key written by [`super::VaryRule::write_variant`] into field names with their values; `None` is a
/// field that the request did not have. `device class` and `other codings` mean a device class and codings
/// that Myriad does not support. Stops at invalid bytes.
pub fn variant_fields(mut variant: &[u8]) -> Vec<(&[u8], Option<Vec<u8>>)> {
    let mut fields = Vec::new();
    while let Some((name, value, rest)) = split_first_field(variant) {
        let name = match name {
            BY_DEVICE => &b"device class"[..],
            BY_CODINGS => b"other codings",
            name => name,
        };
        fields.push((name, value.map(Vec::from)));
        variant = rest;
    }
    fields
}

/// Part of a variant key: a field name, its value (`None` if missing), and the bytes that follow.
type VariantField<'a> = (&'a [u8], Option<Cow<'a, [u8]>>, &'a [u8]);

fn split_first_field(variant: &[u8]) -> Option<VariantField<'_>> {
    let end = memchr::memchr(0, variant)?;
    let (name, rest) = (&variant[..end], &variant[end + 1..]);
    if name == BY_DEVICE {
        let (class, is_contradicted, rest) = device::split_class(rest)?;
        let hint = if is_contradicted { ", contradicted by Sec-CH-UA-Mobile" } else { "" };
        return Some((name, Some([class.as_str(), hint].concat().into_bytes().into()), rest));
    }
    match rest.split_first()? {
        (0, rest) => Some((name, None, rest)),
        (1, rest) => {
            let (length, rest) = rest.split_first_chunk::<4>()?;
            let (value, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            Some((name, Some(value.into()), rest))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::VaryRule;
    use super::variant_fields;
    use crate::CachePolicy;
    use myriad_http::Fields;

    #[test]
    fn variant_shows_request_fields() {
        let rule = VaryRule::parse([&b"X-Device, Accept-Language, Cookie"[..]]).unwrap();
        let sent = [("X-Device", "phone"), ("Accept-Language", "de;q=0.5, en")];
        let fields: Fields = sent.into_iter().collect();
        let mut variant = Vec::new();
        rule.write_variant(&fields, &mut variant).unwrap();
        let shown = variant_fields(&variant);
        assert_eq!(
            shown,
            [
                (&b"accept-language"[..], Some(b"en,de;q=0.95".to_vec())),
                (b"cookie", None),
                (b"x-device", Some(b"phone".to_vec())),
            ]
        );
        for length in 0..variant.len() {
            assert!(variant_fields(&variant[..length]).len() < 3);
        }
    }

    #[test]
    fn variant_by_device_shows_class_and_all_fields() {
        let response = [("Vary", "User-Agent, Accept-Language")].into_iter().collect();
        let rules = CachePolicy { device_class: true, ..CachePolicy::default() };
        let rule = VaryRule::of(&response, &rules).unwrap().by_codings();
        let phone = ("User-Agent", "Mozilla/5.0 (iPhone) Mobile/15E148");
        for (hint, class) in [("?1", "mobile"), ("?0", "mobile, contradicted by Sec-CH-UA-Mobile")] {
            let sent = [phone, ("Sec-CH-UA-Mobile", hint), ("Accept-Language", "de")];
            let mut variant = Vec::new();
            rule.write_variant(&sent.into_iter().collect(), &mut variant).unwrap();
            assert_eq!(
                variant_fields(&variant),
                [
                    (&b"other codings"[..], None),
                    (b"device class", Some(class.into())),
                    (b"accept-language", Some(b"de".to_vec())),
                ]
            );
            for length in 0..variant.len() {
                assert!(variant_fields(&variant[..length]).len() < 3);
            }
        }
    }
}
