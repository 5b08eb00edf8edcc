//! What `$upstream_*` variables read.

use std::any::Any;

use myriad_http::ResponseHead;
use myriad_upstream::{Attempt, Attempts, Trailers};

/// What is known of the origin's part in an exchange.
#[derive(Default)]
pub struct OriginFacts {
    /// The tries, filled while they run.
    pub attempts: Attempts,
    /// The origin's head, once it came.
    pub head: Option<ResponseHead>,
    /// The fields behind its body, once that has ended.
    pub trailers: Option<Trailers>,
    /// What the protocol made of a target with variables: of `proxy_pass` its URL.
    pub prepared: Option<Box<dyn Any>>,
}

impl OriginFacts {
    /// Appends one figure of every try, in nginx's form: separated by commas, groups by colons.
    pub fn list(&self, out: &mut Vec<u8>, mut figure: impl FnMut(&Attempt, &mut String)) -> bool {
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
