//! State of requests to origins, for the `$upstream_*` variables.

use std::any::Any;

use myriad_http::ResponseHead;
use myriad_upstream::{Attempt, Attempts, Trailers};

/// State of a request's attempts to get a response from an origin.
#[derive(Default)]
pub struct OriginState {
    /// Attempts to contact origins so far, updated while one is running.
    pub attempts: Attempts,
    /// Head of the origin's response; `None` until it is received.
    pub head: Option<ResponseHead>,
    /// Trailers of the origin's response, filled when its body is complete; `None` if the protocol or the framing of
    /// the body permits none.
    pub trailers: Option<Trailers>,
    /// Value that the origin's protocol has computed from a target with variables; for `proxy_pass`, the URL. `None` if
    /// it has computed none.
    pub prepared: Option<Box<dyn Any>>,
}

impl OriginState {
    /// Appends the text that `figure` writes for each attempt, in the format of nginx: separated by `, `, or by ` : `
    /// before the first attempt after an internal redirect. Returns false if there was no attempt.
    pub fn list(&self, out: &mut Vec<u8>, mut figure: impl FnMut(&Attempt, &mut String)) -> bool {
        let attempts = self.attempts.get();
        let mut text = String::new();
        for (index, attempt) in attempts.iter().enumerate() {
            if index > 0 {
                text.push_str(if attempt.after_redirect { " : " } else { ", " });
            }
            figure(attempt, &mut text);
        }
        out.extend_from_slice(text.as_bytes());
        !attempts.is_empty()
    }
}
