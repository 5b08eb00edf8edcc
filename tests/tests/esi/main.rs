//! ESI: known visitors are served from the cache, with personal fragments.

mod anonymous_visitors;
mod explain;
mod origin;
mod private_responses;
mod sessions;
mod visitors;

use myriad_tests::{Answer, Cached, Call, Origin, Request, Server};

/// Further directives of `server`.
const RULES: &str = "fastcgi_cache_valid 200 1h; shared_fetch_headers on; cache_status myriad;
    fastcgi_param HTTP_SURROGATE_CAPABILITY 'myriad=\"Surrogate/1.0 ESI/1.0\"';
    esi on; esi_known_cookies wordpress_logged_in_* woocommerce_items_in_cart;";

/// Response fields of a page for known visitors.
const KNOWN: &str = "Content-Type: text/html\r\nSurrogate-Control: content=\"ESI/1.0\"\r\n\
    X-Myriad-ESI: known, joint=part, token=0123456789abcdef\r\nETag: \"one\"";

/// Response fields of fragments.
const PARTS: &str = "Content-Type: application/x-myriad-fragments\r\nCache-Control: private, max-age=60";

/// Returns the cookie of a visitor who is logged in.
fn session(name: &str) -> String {
    format!("wordpress_logged_in_1={name}-0123456789abcdef")
}

fn by(target: &str, name: &str) -> Request {
    Request::get(target).field("Cookie", &session(name))
}

/// Returns an include of the page at `/page` that contains this text.
fn include(name: &str, text: &str) -> String {
    let token = "token=\"0123456789abcdef\"";
    format!("<esi:include src=\"/page?part={name}\" {token}>{text}</esi:include {token}>")
}

/// Returns the page of a test as stored: the anonymous page with its markup.
fn page() -> String {
    let (greeting, form) = (include("greeting", ""), include("form", "<form>name?</form>"));
    format!("<html>{greeting}<p>{}</p>{form}</html>", "text ".repeat(100))
}

/// Returns the page as anonymous clients receive it.
fn everybodys() -> String {
    format!("<html><p>{}</p><form>name?</form></html>", "text ".repeat(100))
}

/// Returns the page as a known visitor receives it.
fn own(name: &str) -> String {
    let part = |part: &str| format!("[{part} of {}]", session(name));
    format!("<html>{}<p>{}</p>{}</html>", part("greeting"), "text ".repeat(100), part("form"))
}

/// Sends fragments like an application that follows the contract.
fn answer_parts(call: &mut Call) {
    let names = call.param("QUERY_STRING").strip_prefix("part=").unwrap_or_default().to_owned();
    let cookie = call.param("HTTP_COOKIE").to_owned();
    let part = |name: &str| {
        let text = format!("[{name} of {cookie}]");
        format!("{name} {}\n{text}\n", text.len())
    };
    call.answer(PARTS, names.split(',').map(part).collect::<String>());
}

/// Application with a page with fragments at `/page`, and a personal page for clients with a cookie.
fn application(call: &mut Call) {
    if call.param("QUERY_STRING").starts_with("part=") {
        return answer_parts(call);
    }
    match call.param("HTTP_COOKIE").to_owned() {
        cookie if cookie.is_empty() => call.answer(KNOWN, page()),
        cookie => call.answer("Content-Type: text/html", format!("page of {cookie}")),
    }
}

fn start(rules: &str, script: impl Fn(&mut Call) + Send + Sync + 'static) -> (Server, Origin) {
    Cached { server: &format!("{RULES} {rules}"), ..Cached::default() }.start(script)
}

/// Asserts that the response contains no fields of the protocol between origin and cache.
#[track_caller]
fn is_clean(answer: &Answer) {
    for field in ["Surrogate-Control", "X-Myriad-ESI", "X-LiteSpeed-Cache-Control", "X-Myriad-Private-Purge"]
    {
        assert_eq!(answer.field(field), None, "{field}");
    }
    assert!(!answer.text().contains("0123456789abcdef\""), "the token: {}", answer.text());
    assert!(!answer.text().contains("esi:"), "markup: {}", answer.text());
}

/// Asserts that a personal response is marked as private.
#[track_caller]
fn is_private(answer: &Answer) {
    assert_eq!(answer.all("Cache-Control").collect::<Vec<_>>(), ["private, no-store"]);
    for field in ["ETag", "Last-Modified", "Expires", "Age", "Accept-Ranges"] {
        assert_eq!(answer.field(field), None, "{field}");
    }
}
