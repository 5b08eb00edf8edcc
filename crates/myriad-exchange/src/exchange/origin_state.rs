//! State that `$upstream_*` variables read.

use std::any::Any;

use myriad_http::ResponseHead;
use myriad_upstream::{Attempt, Attempts, Trailers};

/// Origin state of an exchange.
#[derive(Default)]
pub struct OriginState {
    /// Attempts, updated while they run.
    pub attempts: Attempts,
    /// Response head of the origin, once received.
    pub head: Option<ResponseHead>,
    /// Trailers of the origin, once its body is complete.
    pub trailers: Option<Trailers>,
    /// Value that the protocol derived from a target with variables; for `proxy_pass`, its URL.
    pub prepared: Option<Box<dyn Any>>,
}

impl OriginState {
    /// Appends one figure of every attempt in nginx's format: attempts are separated by commas, groups by colons.
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
