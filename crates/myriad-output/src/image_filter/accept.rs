//! Image formats that a client accepts (`Accept`, RFC 9110 section 12.5.1).

use crate::image::OutputFormat;
use myriad_exchange::exchange::Request;

/// Returns the formats of `formats` that `Accept` names by their media types, in the order of `formats`. `*/*` does not
/// count: a client that sends only `*/*` may support none of them.
pub fn accepted(formats: &[OutputFormat], request: &Request) -> Vec<OutputFormat> {
    if formats.is_empty() {
        return Vec::new();
    }
    let fields = request.received.head.fields().iter();
    let values: Vec<&[u8]> =
        fields.filter(|(name, _)| name.eq_ignore_ascii_case(b"accept")).map(|(_, value)| value).collect();
    formats
        .iter()
        .copied()
        .filter(|format| values.iter().any(|value| accepts(value, format.media_type())))
        .collect()
}

/// Returns whether a value of `Accept` names a media type with a weight above 0.
fn accepts(value: &[u8], media_type: &str) -> bool {
    value.split(|byte| *byte == b',').any(|range| {
        let mut parts = range.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(media_type.as_bytes()));
        named && !parts.any(is_nothing)
    })
}

/// Returns whether a parameter of `Accept` is `q=0`, `q=0.000` or similar, by which the client rejects the media type.
fn is_nothing(parameter: &[u8]) -> bool {
    match parameter {
        [b'q' | b'Q', b'=', weight @ ..] => {
            weight.starts_with(b"0") && weight.iter().all(|byte| matches!(byte, b'0' | b'.'))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::accepts;

    #[test]
    fn formats_are_taken_where_they_are_named() {
        for (value, taken) in [
            ("image/avif,image/webp,*/*;q=0.8", true),
            ("text/html, IMAGE/WebP;q=0.5", true),
            ("image/webp;q=0", false),
            ("image/webp; q=0.000", false),
            ("image/*,*/*", false),
            ("image/webpx", false),
            ("", false),
        ] {
            assert_eq!(accepts(value.as_bytes(), "image/webp"), taken, "{value}");
        }
    }
}
