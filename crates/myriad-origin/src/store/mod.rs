//! `*_store`: answers of origins become files, which a location without origin may serve from then on.
//!
//! ```text
//! origin --> visitor
//!    \--> file beside its place --the answer is whole--> renamed
//! ```
//!
//! Nothing of it is a cache: no file is removed, renewed or told apart from another by anything but its path. So answers of 200 to GET
//! alone become files, and none that says it is for one visitor (`Set-Cookie`; `private`, `no-store` in `Cache-Control`), or is by
//! what was asked (`Authorization`, RFC 9111 section 3.5; a coding that only the first visitor may have accepted).
//!
//! | file | what |
//! |---|---|
//! | `directives` | the rows, and what they say |
//! | `path` | which file an answer becomes |
//! | `body` | the answer on its way to the visitor and to the file |

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

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("origin", &[]).and_of_origins(ROWS);

/// The body of an answer, which becomes a file on its way where the place wants that; and whether it does.
pub(crate) fn stored(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    head: &ResponseHead,
    body: BoxBody,
) -> (BoxBody, bool) {
    let Some(rules) = origin.store.as_ref().filter(|_| is_for_everybody(exchange, head)) else {
        return (body, false);
    };
    match path::of(exchange, rules).filter(|(path, _)| is_coded_as_named(head, path)) {
        Some(path) => (Box::pin(body::Storing::new(exchange, head, path, rules.mode, body)), true),
        None => (body, false),
    }
}

/// Whether an answer may become a file that any visitor gets.
fn is_for_everybody(exchange: &Exchange, head: &ResponseHead) -> bool {
    let asked = &exchange.request.received.head;
    let says = |name: &[u8]| {
        let mut values = head.fields.known_all(Known::CacheControl);
        values.any(|value| {
            value.split(|byte| *byte == b',').any(|directive| {
                let said = directive.split(|byte| *byte == b'=').next().unwrap_or_default().trim_ascii();
                said.eq_ignore_ascii_case(name)
            })
        })
    };
    let is_personal = says(b"private")
        || says(b"no-store")
        || head.fields.has(Known::SetCookie)
        || asked.fields().has(Known::Authorization) && !says(b"public");
    matches!(asked.method(), Method::Get) && head.status == 200 && !is_personal
}

/// Whether the name of the file says how its bytes are coded: whoever serves it tells visitors nothing else of that.
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
    fn coded_bytes_become_files_that_say_so() {
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
