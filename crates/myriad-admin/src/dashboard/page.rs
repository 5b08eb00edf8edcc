//! The dashboard page: a single file built from `dashboard/` of the repository.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use myriad_encode::{Coding, CompressionLevel, compress};
use myriad_http::accept::AcceptEncoding;
use myriad_net::ResponseBody;
use sha2::{Digest, Sha256};

use myriad_exchange::exchange::{ContentResponse, PhaseStep};

const PAGE: &str = include_str!("../../../../dashboard/built/dashboard.html");

/// Dashboard page compressed with gzip to a quarter of its size. It is compressed at the first request, which takes
/// about 5 ms. `None` if that failed.
static SMALL: LazyLock<Option<Bytes>> =
    LazyLock::new(|| compress(Coding::Gzip, CompressionLevel::Strong, PAGE.as_bytes()).ok().map(Bytes::from));

/// Content security policy of the dashboard page. It permits the page's own script and style, identified by their
/// hashes, and requests to this server; forbids display in a frame; and prevents text from being used as markup
/// (Trusted Types).
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |begin: &str, end: &str| {
        let text =
            PAGE.split_once(begin).and_then(|(_, rest)| rest.split_once(end)).map_or("", |(text, _)| text);
        STANDARD.encode(Sha256::digest(text))
    };
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; img-src data:; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        hash("<script>", "</script>"),
        hash("<style>", "</style>"),
    )
});

/// Returns the dashboard page, with gzip if `accepted` (the value of `Accept-Encoding`) permits it.
pub(super) fn answer(accepted: &[u8]) -> PhaseStep {
    let wanted = AcceptEncoding::parse(accepted)
        .best(Coding::Gzip.bit() | Coding::Identity.bit(), &[Coding::Gzip, Coding::Identity]);
    let small = SMALL.clone().filter(|_| wanted == Some(Coding::Gzip));
    let coding = if small.is_some() { Coding::Gzip } else { Coding::Identity };
    let body = small.unwrap_or(Bytes::from_static(PAGE.as_bytes()));
    let mut answer = ContentResponse::new(200, ResponseBody::Full(body));
    answer.coding = coding;
    answer.varies_by_encoding = true;
    answer.media_type = Some(b"text/html; charset=utf-8"[..].into());
    for (name, value) in [
        ("Cache-Control", "no-store"),
        ("Content-Security-Policy", &**POLICY),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
    ] {
        answer.field(name.as_bytes(), value.as_bytes());
    }
    PhaseStep::Answer(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_is_whole_small_and_names_no_other_address() {
        assert!(PAGE.len() <= 150 * 1024, "{}", PAGE.len());
        assert_eq!((PAGE.matches("<script").count(), PAGE.matches("<style").count()), (1, 1));
        let licence = PAGE.split_once("-->").map_or("", |(licence, _)| licence);
        for word in ["http://", "https://", "//#", "@import"] {
            // Allowed occurrences: the logo names the SVG namespace, and examples name example.org.
            let named = PAGE[licence.len()..].split(word).skip(1).filter(|rest| {
                !["www.w3.org/2000/svg", "example.org/"].iter().any(|known| rest.starts_with(known))
            });
            assert_eq!(named.count(), 0, "{word}");
        }
        for handler in [" onclick=", " onload=", " onerror=", " style="] {
            assert!(!PAGE.contains(handler), "{handler}");
        }
        for sink in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
            assert!(!PAGE.contains(sink), "{sink}");
        }
    }

    #[test]
    fn policy_names_what_the_page_holds() {
        assert_eq!(POLICY.matches("'sha256-").count(), 2);
        assert!(!POLICY.contains("unsafe") && POLICY.contains("frame-ancestors 'none'"), "{}", *POLICY);
        let empty = STANDARD.encode(Sha256::digest(""));
        assert!(!POLICY.contains(&empty), "{}", *POLICY);
    }
}
