//! Readable form of variant keys, for reports.

/// Splits a variant key written by [`super::VaryRule::write_variant`] into field names with their values; `None` is a
/// field that the request did not have. Stops at invalid bytes, and at a device class, which has another form.
pub fn variant_fields(mut variant: &[u8]) -> Vec<(&[u8], Option<Vec<u8>>)> {
    let mut fields = Vec::new();
    while let Some((name, value, rest)) = split_first_field(variant) {
        fields.push((name, value.map(<[u8]>::to_vec)));
        variant = rest;
    }
    fields
}

/// Part of a variant key: a field name, its value (`None` if missing), and the bytes that follow.
type VariantField<'a> = (&'a [u8], Option<&'a [u8]>, &'a [u8]);

fn split_first_field(variant: &[u8]) -> Option<VariantField<'_>> {
    let end = memchr::memchr(0, variant)?;
    let (name, rest) = (&variant[..end], &variant[end + 1..]);
    match rest.split_first()? {
        (0, rest) => Some((name, None, rest)),
        (1, rest) => {
            let (length, rest) = rest.split_first_chunk::<4>()?;
            let (value, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            Some((name, Some(value), rest))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::VaryRule;
    use super::variant_fields;
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
}
