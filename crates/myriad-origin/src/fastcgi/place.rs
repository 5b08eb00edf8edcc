//! Requests to FastCGI origins.

use std::cell::RefCell;

use bytes::Bytes;
use myriad_http::Known;
use myriad_script::{EvalError, Frame, Regex, Template};
use myriad_upstream::fastcgi_protocol::Params;
use myriad_upstream::{Protocol, RequestPayload};

use crate::cgi::{CgiPlace, environment};
use crate::group;
use myriad_exchange::exchange::{Exchange, FetchPurpose, Request};
use myriad_exchange::runtime::{MakeError, OriginProtocol, ProtocolRequest, RequestRules, UpstreamTarget};

/// Compiled `fastcgi_*` settings of a location that other protocols do not have.
pub(super) struct FastCgiPlace {
    /// Parameters (`fastcgi_param`).
    pub environment: CgiPlace,
    /// File name that is appended to a script name ending with `/` (`fastcgi_index`); empty for none.
    pub index: Box<[u8]>,
    /// Regular expression whose groups are script name and path info (`fastcgi_split_path_info`); `None` if it is not
    /// configured.
    pub split_path_info: Option<Regex>,
    /// True if persistent connections are requested (`fastcgi_keep_conn`).
    pub keep_conn: bool,
    /// Texts that make a response invalid if they occur on stderr (`fastcgi_catch_stderr`).
    pub catch_stderr: Vec<Box<[u8]>>,
}

impl OriginProtocol for FastCgiPlace {
    fn make(
        &self,
        exchange: &mut Exchange,
        rules: RequestRules,
        purpose: FetchPurpose<'_>,
        body: RequestPayload,
    ) -> Result<ProtocolRequest, MakeError> {
        let mut params = Params::with_capacity(2048);
        environment::write(exchange, rules, &self.environment, purpose, &mut params)?;
        let method = environment::method(exchange, purpose);
        let params = Bytes::from(params.into_bytes());
        let protocol = Protocol::FastCgi { params, keep_conn: self.keep_conn };
        Ok(ProtocolRequest { protocol, method, body, tls: None })
    }

    fn show(&self, _: &Request, peer: &str) -> String {
        format!("fastcgi://{peer}")
    }

    fn upstream_target(&self, exchange: &mut Exchange, target: &Template) -> Result<UpstreamTarget, u16> {
        group::target_by_name(exchange, target)
    }

    fn replaces(&self, field: Known) -> bool {
        self.environment.replaces(field)
    }

    /// Returns true for `Status`, which sets the status of the response and is not forwarded.
    fn consumes_field(&self, known: Known) -> bool {
        known == Known::Status
    }

    fn invalidates(&self, text: &[u8]) -> bool {
        let has = |word: &[u8]| !word.is_empty() && text.windows(word.len()).any(|part| part == word);
        self.catch_stderr.iter().any(|word| has(word))
    }

    fn scripts(&self) -> Vec<&Template> {
        self.environment.scripts()
    }
}

thread_local! {
    static SPLIT: RefCell<Split> = RefCell::new(Split::default());
}

/// Last URI that this thread split by `fastcgi_split_path_info`, cached because several parameters of a request use its
/// parts. The pattern is matched with a separate frame: the captures of the location must remain available to other
/// parameters.
#[derive(Default)]
struct Split {
    /// Pattern by which the URI was last split; `None` if there was no split or it failed.
    by: Option<Regex>,
    uri: Vec<u8>,
    /// True if the pattern matched the URI.
    matched: bool,
    frame: Frame,
}

impl Split {
    /// Splits a URI, unless the last split had the same pattern and URI. Returns whether the pattern matched; fails if
    /// it cannot be evaluated.
    fn split(&mut self, by: &Regex, uri: &[u8]) -> Result<bool, EvalError> {
        if self.by.as_ref() != Some(by) || self.uri != uri {
            self.by = None;
            self.matched = by.matches(uri, &mut self.frame)?;
            self.uri.clear();
            self.uri.extend_from_slice(uri);
            self.by = Some(by.clone());
        }
        Ok(self.matched)
    }
}

impl FastCgiPlace {
    /// Appends the script name: the first group of `fastcgi_split_path_info`, or the whole URI if the pattern does not
    /// match or is not configured; then `index` after a final `/`. Fails if the regular expression cannot be evaluated.
    pub(super) fn script_name(&self, request: &Request, out: &mut Vec<u8>) -> Result<(), EvalError> {
        if !self.split_uri(request, 1, out)? {
            out.extend_from_slice(&request.route.uri);
        }
        if out.ends_with(b"/") {
            out.extend_from_slice(&self.index);
        }
        Ok(())
    }

    /// Appends the second group of `fastcgi_split_path_info`; nothing if the pattern does not match or is not
    /// configured. Fails if the regular expression cannot be evaluated.
    pub(super) fn path_info(&self, request: &Request, out: &mut Vec<u8>) -> Result<(), EvalError> {
        self.split_uri(request, 2, out).map(drop)
    }

    /// Appends a group of `fastcgi_split_path_info`, matched with the URI. Returns whether it matched; false if it is
    /// not configured.
    fn split_uri(&self, request: &Request, group: usize, out: &mut Vec<u8>) -> Result<bool, EvalError> {
        let Some(regex) = &self.split_path_info else { return Ok(false) };
        SPLIT.with_borrow_mut(|split| {
            let matched = split.split(regex, &request.route.uri)?;
            if matched {
                out.extend_from_slice(split.frame.capture(group).unwrap_or_default());
            }
            Ok(matched)
        })
    }
}
