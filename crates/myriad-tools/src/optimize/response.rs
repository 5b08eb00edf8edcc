//! Conversion of a server's response to a resource of a page.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use myriad_base::calendar::parse_http_date;
use myriad_cli::web::WebAnswer;
use myriad_http::cache_control::CacheControl;
use myriad_optimize::{PageResource, PageUrl};

/// Converts a response. Returns an error text if the body cannot be decoded, or is longer than `largest` bytes when
/// decoded.
pub(super) fn resource(
    url: PageUrl,
    answer: WebAnswer,
    redirects: u32,
    largest: usize,
    now_s: u64,
) -> Result<PageResource, String> {
    let field = |name: &str| answer.field(name).unwrap_or_default().trim().to_ascii_lowercase();
    let encoding = field("content-encoding");
    let encoding = if encoding == "identity" { String::new() } else { encoding };
    let transfer_bytes = answer.body.len() as u64;
    let content_type = field("content-type");
    let (fresh_s, has_validator) = (
        freshness(&answer, now_s),
        answer.field("etag").is_some() || answer.field("last-modified").is_some(),
    );
    let has_policy = answer.field("content-security-policy").is_some();
    let status = answer.status;
    let body = decoded(answer.body, &encoding, largest)?;
    Ok(PageResource {
        status,
        encoding,
        fresh_s,
        has_validator,
        has_policy,
        transfer_bytes,
        redirects,
        ..PageResource::new(url, &content_type, body)
    })
}

fn decoded(body: Vec<u8>, encoding: &str, largest: usize) -> Result<Vec<u8>, String> {
    match encoding {
        "" => Ok(body),
        "gzip" | "x-gzip" => {
            let mut decoded = Vec::new();
            let limit = u64::try_from(largest).unwrap_or(u64::MAX).saturating_add(1);
            let read = MultiGzDecoder::new(body.as_slice()).take(limit).read_to_end(&mut decoded);
            read.map_err(|error| format!("invalid gzip: {error}"))?;
            if decoded.len() > largest { Err(too_long(largest)) } else { Ok(decoded) }
        }
        other => Err(format!("sent in the coding \"{other}\", which was not requested")),
    }
}

/// Returns the reason for a body longer than the limit.
pub(super) fn too_long(largest: usize) -> String {
    format!("longer than {} MB", largest >> 20)
}

/// Returns the time in seconds for which a browser may use the response without another request. Returns `None` if the
/// response headers specify no time, and 0 if `Cache-Control` forbids the use or `Expires` is invalid.
fn freshness(answer: &WebAnswer, now_s: u64) -> Option<u64> {
    let control = CacheControl::parse(answer.fields.get_all(b"cache-control"));
    if control.no_store || control.no_cache {
        return Some(0);
    }
    if control.max_age.is_some() {
        return control.max_age;
    }
    let expires = answer.fields.get(b"expires")?;
    let Some(expires) = parse_http_date(expires, now_s) else { return Some(0) };
    let date = answer.fields.get(b"date").and_then(|date| parse_http_date(date, now_s)).unwrap_or(now_s);
    Some(expires.saturating_sub(date))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::Duration;

    use flate2::{Compression, write::GzEncoder};
    use myriad_http::Fields;

    use super::*;

    fn answer(fields: &[(&str, &str)], body: Vec<u8>) -> WebAnswer {
        let mut list = Fields::default();
        for (name, value) in fields {
            list.push(name.as_bytes(), value.as_bytes());
        }
        WebAnswer { status: 200, fields: list, body, first_byte: Duration::ZERO }
    }

    fn converted(fields: &[(&str, &str)], body: Vec<u8>) -> Result<PageResource, String> {
        let url = PageUrl::parse("http://a.test/").expect("absolute");
        resource(url, answer(fields, body), 0, 1 << 20, 784_111_777)
    }

    #[test]
    fn freshness_is_that_of_browsers() {
        for (fields, expected) in [
            (&[("Cache-Control", "public, max-age=60")][..], Some(60)),
            (&[("Cache-Control", "no-cache, max-age=60")], Some(0)),
            (
                &[("Expires", "Sun, 06 Nov 1994 08:50:37 GMT"), ("Date", "Sun, 06 Nov 1994 08:49:37 GMT")],
                Some(60),
            ),
            (&[("Expires", "Sun, 06 Nov 1994 08:50:37 GMT"), ("Cache-Control", "max-age=5")], Some(5)),
            (&[("Expires", "0")], Some(0)),
            (&[], None),
        ] {
            assert_eq!(converted(fields, Vec::new()).expect("valid").fresh_s, expected, "{fields:?}");
        }
    }

    #[test]
    fn bodies_are_decoded_within_their_limit() {
        let packed = |length: usize| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(&vec![b' '; length]).expect("memory");
            encoder.finish().expect("memory")
        };
        let gzip = [("Content-Encoding", "gzip"), ("Content-Type", "text/CSS; charset=\"UTF-8\"")];
        let found = converted(&gzip, packed(1 << 20)).expect("within the limit");
        assert_eq!(
            (found.body.len(), found.media_type.as_str(), found.charset.as_deref()),
            (1 << 20, "text/css", Some("utf-8"))
        );
        assert!(found.transfer_bytes < 10_000 && found.encoding == "gzip");
        assert!(converted(&gzip, packed((1 << 20) + 1)).expect_err("too long").contains("1 MB"));
        assert!(converted(&gzip, b"x".to_vec()).expect_err("not gzip").contains("gzip"));
        assert!(
            converted(&[("Content-Encoding", "br")], Vec::new()).expect_err("not requested").contains("br")
        );
    }
}
