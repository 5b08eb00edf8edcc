//! The page with a challenge.

use std::sync::LazyLock;

use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use myriad_exchange::exchange::{Answer, Step};
use myriad_net::ResponseBody;

use super::pass::COOKIE;

const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");

/// What the browser may run of it: this script and this style, and nothing that somebody put in between.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |text: &str| STANDARD.encode(digest::digest(&digest::SHA256, text.as_bytes()));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
});

/// The page around the challenge and the time: script and style, which hold braces of their own, are filled in behind them.
static PARTS: LazyLock<[String; 3]> = LazyLock::new(|| {
    let (before, rest) = PAGE.split_once("{challenge}").unwrap_or((PAGE, ""));
    let (between, behind) = rest.split_once("{valid}").unwrap_or((rest, ""));
    [before, between, behind]
        .map(|part| part.replace("{cookie}", COOKIE).replace("{style}", STYLE).replace("{script}", SCRIPT))
});

/// 503, for a moment: a search engine comes again and forgets nothing, and no cache keeps it. `valid_s` is for how long the cookie is
/// kept, seconds.
pub(super) fn answer(challenge: &str, valid_s: u64) -> Step {
    let [before, between, behind] = &*PARTS;
    let page = [before, challenge, between, &valid_s.to_string(), behind].concat();
    let mut answer = Answer::new(503, ResponseBody::Full(Bytes::from(page)));
    answer.media_type = Some(b"text/html; charset=utf-8"[..].into());
    answer.field(b"Cache-Control", b"no-store");
    answer.field(b"Retry-After", b"60");
    answer.field(b"X-Robots-Tag", b"noindex");
    answer.field(b"Content-Security-Policy", POLICY.as_bytes());
    Step::Answer(answer)
}
