//! Response with the challenge page.

use std::sync::LazyLock;

use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use myriad_exchange::exchange::{ContentResponse, PhaseStep};
use myriad_net::ResponseBody;

use super::pass::COOKIE;

const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");

/// Content security policy of the challenge page (`origin_challenge`). It permits only the page's own script and style,
/// identified by their hashes, and nothing that an intermediary has injected.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |text: &str| STANDARD.encode(digest::digest(&digest::SHA256, text.as_bytes()));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
});

/// Parts of the challenge page: before the challenge, between it and the lifetime of the pass, and after the lifetime.
/// Script and style contain braces, and are therefore inserted after the page has been split.
static PARTS: LazyLock<[String; 3]> = LazyLock::new(|| {
    let (before, rest) = PAGE.split_once("{challenge}").unwrap_or((PAGE, ""));
    let (between, behind) = rest.split_once("{valid}").unwrap_or((rest, ""));
    [before, between, behind]
        .map(|part| part.replace("{cookie}", COOKIE).replace("{style}", STYLE).replace("{script}", SCRIPT))
});

/// Returns the response with the challenge page. Status 503 with `Retry-After` makes search engines retry later and
/// retain their index; caches must not store it. `valid_s` is the lifetime of the pass cookie, in seconds.
pub(super) fn challenge_response(challenge: &str, valid_s: u64) -> PhaseStep {
    let [before, between, behind] = &*PARTS;
    let page = [before, challenge, between, &valid_s.to_string(), behind].concat();
    let mut answer = ContentResponse::new(503, ResponseBody::Full(Bytes::from(page)));
    answer.media_type = Some(b"text/html; charset=utf-8"[..].into());
    answer.field(b"Cache-Control", b"no-store");
    answer.field(b"Retry-After", b"60");
    answer.field(b"X-Robots-Tag", b"noindex");
    answer.field(b"Content-Security-Policy", POLICY.as_bytes());
    PhaseStep::Answer(answer)
}
