//! What `$upstream_*` variables read.

use std::fmt::Write;

use myriad_http::ResponseHead;
use myriad_upstream::{Attempt, Attempts, Trailers};

use super::Request;
use super::origin_uri;
use crate::runtime::{Handler, PassUrl};

/// What is known of the origin's part in an exchange.
#[derive(Default)]
pub(crate) struct OriginFacts {
    /// The tries, filled while they run.
    pub attempts: Attempts,
    /// The origin's head, once it came.
    pub head: Option<ResponseHead>,
    /// The fields behind its body, once that has ended.
    pub trailers: Option<Trailers>,
    /// The URL that variables of `proxy_pass` made.
    pub url: Option<PassUrl>,
}

impl OriginFacts {
    /// Appends one figure of every try, in nginx's form: separated by commas, groups by colons.
    pub(crate) fn list(&self, out: &mut Vec<u8>, mut figure: impl FnMut(&Attempt, &mut String)) -> bool {
        let attempts = self.attempts.get();
        let mut text = String::new();
        for (index, attempt) in attempts.iter().enumerate() {
            if index > 0 {
                text.push_str(if attempt.elsewhere { " : " } else { ", " });
            }
            figure(attempt, &mut text);
        }
        out.extend_from_slice(text.as_bytes());
        !attempts.is_empty()
    }
}

/// Milliseconds as nginx shows them: seconds with three decimals, `-` where there is none.
pub(super) fn seconds(ms: Option<u64>, text: &mut String) {
    let _ = match ms {
        Some(ms) => write!(text, "{}.{:03}", ms / 1000, ms % 1000),
        None => write!(text, "-"),
    };
}

/// `, upstream: "http://127.0.0.1:8080/uri"` for the error log, once an origin was asked; the last that was.
pub(super) fn shown_upstream(request: &Request) -> String {
    let Some(facts) = &request.origin else { return String::new() };
    let attempts = facts.attempts.get();
    let Some(attempt) = attempts.last() else { return String::new() };
    let mut uri = Vec::new();
    let scheme = match &request.place().handler {
        Handler::Origin(origin) => match &origin.http {
            Some(http) => {
                // As nginx shows a socket in the file system: a colon before the URI.
                if attempt.address.starts_with("unix:") {
                    uri.push(b':');
                }
                origin_uri::write_uri(request, http, &mut uri);
                origin_uri::url(request, http).map_or("http", PassUrl::scheme)
            }
            None => "fastcgi",
        },
        // An error page, or where `X-Accel-Redirect` leads: the try was another place's.
        _ => "http",
    };
    uri.truncate(SHOWN_URI);
    format!(", upstream: \"{scheme}://{}{}\"", attempt.address, String::from_utf8_lossy(&uri))
}

/// The most of an URI that the error log shows, bytes.
const SHOWN_URI: usize = 2048;
