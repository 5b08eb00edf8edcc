//! `*_store`: answers of origins become files, which a location without origin may serve from then on.
//!
//! ```text
//! origin --> visitor
//!    \--> file beside its place --the answer is whole--> renamed
//! ```
//!
//! Nothing of it is a cache: no file is removed, renewed or told apart from another by anything but its path. So answers of 200 to GET
//! alone become files, and none that says it is for one visitor (`Set-Cookie`; `private`, `no-store` in `Cache-Control`).
//!
//! | file | what |
//! |---|---|
//! | `directives` | the rows, and what they say |
//! | `path` | which file an answer becomes |
//! | `body` | the answer on its way to the visitor and to the file |

mod body;
mod directives;
mod path;

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
    match path::of(exchange, rules) {
        Some(path) => (Box::pin(body::Storing::new(exchange, head, path, rules.mode, body)), true),
        None => (body, false),
    }
}

/// Whether an answer may become a file that any visitor gets.
fn is_for_everybody(exchange: &Exchange, head: &ResponseHead) -> bool {
    let asks = matches!(exchange.request.received.head.method(), Method::Get);
    let is_personal = head.fields.known_all(Known::CacheControl).any(|value| {
        value.split(|byte| *byte == b',').any(|directive| {
            let name = directive.split(|byte| *byte == b'=').next().unwrap_or_default().trim_ascii();
            name.eq_ignore_ascii_case(b"private") || name.eq_ignore_ascii_case(b"no-store")
        })
    });
    asks && head.status == 200 && !is_personal && !head.fields.has(Known::SetCookie)
}
