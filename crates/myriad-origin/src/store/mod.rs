//! `*_store`: responses of origins are stored as files, which a location without origin can serve.
//!
//! ```text
//! origin --> client
//!    \--> temporary file --response is complete--> renamed
//! ```
//!
//! This is not a cache: files are neither removed nor renewed, and only their path distinguishes them. Only 200
//! responses to GET are stored. Responses for a single client (`Set-Cookie`; `private` or `no-store` in
//! `Cache-Control`) are not stored, nor responses that depend on the request (`Authorization` without `public`, RFC
//! 9111 section 3.5; a content coding that the file extension does not name).
//!
//! | file | content |
//! |---|---|
//! | `directives` | directives and settings |
//! | `path` | path of the file |
//! | `body` | response body that is sent to the client and written to the file |

mod body;
mod directives;
mod path;

use std::path::Path;

use directives::ROWS;
pub use directives::rules;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::feature::Feature;
use myriad_exchange::runtime::OriginPlace;
use myriad_http::body::BoxBody;
use myriad_http::{Known, Method, ResponseHead};

/// Feature entry for the list of features in `myriad-serve`.
pub const FEATURE: Feature = Feature::new("origin", &[]).and_of_origins(ROWS);

/// Returns the body of a response and whether it is stored; if so, reading the body also writes it to a file.
pub(crate) fn wrap_body(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    head: &ResponseHead,
    body: BoxBody,
) -> (BoxBody, bool) {
    let Some(rules) = origin.store.as_ref().filter(|_| is_shareable(exchange, head)) else {
        return (body, false);
    };
    match path::of(exchange, rules).filter(|(path, _)| is_coded_as_named(head, path)) {
        Some(path) => (Box::pin(body::StoringBody::new(exchange, head, path, rules.mode, body)), true),
        None => (body, false),
    }
}

/// Returns whether a response may be stored as a file that any client gets: a 200 to a GET, without `private`,
/// `no-store` and `Set-Cookie`, and with `public` if the request has `Authorization`.
fn is_shareable(exchange: &Exchange, head: &ResponseHead) -> bool {
    let asked = &exchange.request.received.head;
    let has_directive = |name: &[u8]| {
        let mut values = head.fields.known_all(Known::CacheControl);
        values.any(|value| {
            value.split(|byte| *byte == b',').any(|directive| {
                let token = directive.split(|byte| *byte == b'=').next().unwrap_or_default().trim_ascii();
                token.eq_ignore_ascii_case(name)
            })
        })
    };
    let is_personal = has_directive(b"private")
        || has_directive(b"no-store")
        || head.fields.has(Known::SetCookie)
        || asked.fields().has(Known::Authorization) && !has_directive(b"public");
    matches!(asked.method(), Method::Get) && head.status == 200 && !is_personal
}

/// Returns whether the file extension names the content coding of a response; true without a coding. When the file is
/// served, the extension alone determines the coding.
fn is_coded_as_named(head: &ResponseHead, path: &Path) -> bool {
    let mut codings = head.fields.known_all(Known::ContentEncoding).map(<[u8]>::trim_ascii);
    let ending: &[u8] = path.extension().unwrap_or_default().as_encoded_bytes();
    codings.all(|coding| match &coding.to_ascii_lowercase()[..] {
        b"" | b"identity" => true,
        b"gzip" | b"x-gzip" => ending == b"gz",
        b"br" => ending == b"br",
        b"zstd" => ending == b"zst",
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_body_is_stored_only_with_matching_file_extension() {
        for (coding, path, stored) in [
            ("", "/a.js", true),
            ("identity", "/a.js", true),
            ("gzip", "/a.js", false),
            ("GZIP", "/a.js.gz", true),
            ("br", "/a.js.gz", false),
            ("br", "/a.js.br", true),
            ("gzip, br", "/a.js.br", false),
            ("deflate", "/a.js", false),
        ] {
            let mut head = ResponseHead::new(200);
            head.fields.push_known(Known::ContentEncoding, coding.as_bytes());
            assert_eq!(is_coded_as_named(&head, Path::new(path)), stored, "{coding} {path}");
        }
        assert!(is_coded_as_named(&ResponseHead::new(200), Path::new("/a.js")));
    }
}
