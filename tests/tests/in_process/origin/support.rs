//! Helpers: build the request that an origin would receive, and the response that a client would
//! receive.

use std::sync::Arc;

use bytes::Bytes;
use myriad_http::{HttpVersion, ResponseHead};
use myriad_net::ResponseBody;
use myriad_upstream::{Attempts, OriginRequest, Protocol, RequestPayload};

use myriad_exchange::exchange::{ContentResponse, Exchange, FetchPurpose};
use myriad_exchange::runtime::{MakeError, OriginPlace};
use myriad_origin::{answer, build_request, rewrite};
use myriad_serve::testing::{TestSite, immediate_answer};

/// Client request in a location with an origin, before the request to the origin is sent.
pub(super) struct OriginTrial(pub Box<Exchange>);

/// Head of a request to an HTTP origin, split into its parts.
pub(super) struct SentRequestHead {
    /// Request line, without its line break.
    pub line: String,
    /// Field lines, without the empty line.
    pub fields: String,
    /// True if the connection may be reused.
    pub keep_alive: bool,
    /// Protocols to which the origin may switch.
    pub upgrade: Bytes,
}

impl SentRequestHead {
    /// Returns the values of a field, in order. The name is case-insensitive.
    pub(super) fn all(&self, name: &str) -> Vec<&str> {
        let lines =
            self.fields.split_terminator("\r\n").map(|line| line.split_once(": ").expect("a field line"));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
    }
}

impl OriginTrial {
    /// Creates a request with this method and target and these fields, to a `server` block with these directives.
    pub(super) fn of(server: &str, line: &str, fields: &[(&str, &str)]) -> Self {
        Self::of_version(HttpVersion::Http11, server, line, fields)
    }

    /// Creates a request like [`of`](Self::of), with an HTTP version.
    pub(super) fn of_version(
        version: HttpVersion,
        server: &str,
        line: &str,
        fields: &[(&str, &str)],
    ) -> Self {
        let mut fields = fields.to_vec();
        fields.push(("Host", "visited.test"));
        let line = line.split_once(' ').expect("a method and a target");
        let mut exchange = TestSite::new("", server).received_request(version, line, &fields);
        let answer = immediate_answer(&mut exchange);
        assert!(answer.is_none(), "{line:?} was answered without an origin");
        Self(exchange)
    }

    /// Returns the origin settings of the location.
    pub(super) fn origin(&self) -> Arc<OriginPlace> {
        Arc::clone(self.0.request.place().handler.origin().expect("the location has an origin"))
    }

    /// Returns the request to the origin for a client request with this body.
    pub(super) fn build_request(&mut self, payload: RequestPayload) -> Result<OriginRequest, MakeError> {
        self.build_request_for(FetchPurpose::Visitor, payload)
    }

    /// Returns a request like [`build_request`](Self::build_request), for another purpose.
    pub(super) fn build_request_for(
        &mut self,
        purpose: FetchPurpose<'_>,
        payload: RequestPayload,
    ) -> Result<OriginRequest, MakeError> {
        let origin = self.origin();
        build_request::make(&mut self.0, &origin, purpose, payload, Attempts::default())
    }

    /// Returns the head of the request to an HTTP origin, for a client request with this body.
    pub(super) fn sent_head(&mut self, payload: RequestPayload) -> SentRequestHead {
        let request = self.build_request(payload).expect("a request");
        let Protocol::Http { head, keep_alive, upgrade } = request.protocol else {
            panic!("the origin does not speak HTTP")
        };
        let text = std::str::from_utf8(&head).expect("text").to_owned();
        let (line, rest) = text.split_once("\r\n").expect("a request line");
        let end = rest.strip_suffix("\r\n").expect("an empty line at the end");
        assert!(
            !end.contains("\r\n\r\n") && !end.starts_with("\r\n"),
            "an empty line within the head: {text:?}"
        );
        SentRequestHead { line: line.to_owned(), fields: end.to_owned(), keep_alive, upgrade }
    }

    /// Returns the request line that an HTTP origin receives.
    pub(super) fn line(&mut self) -> String {
        self.sent_head(RequestPayload::Empty).line
    }

    /// Returns the environment that a FastCGI origin receives, as `NAME=value` in order.
    pub(super) fn environment(&mut self) -> Vec<String> {
        let request = self.build_request(RequestPayload::Empty).expect("a request");
        let Protocol::FastCgi { params, .. } = request.protocol else {
            panic!("the origin does not speak FastCGI")
        };
        let pairs = myriad_upstream::fastcgi_protocol::params::pairs(&params);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        pairs.map(|(name, value)| format!("{}={}", text(name), text(value))).collect()
    }

    /// Returns the response to the client for this response of the origin, without its body.
    pub(super) fn client_response(&mut self, status: u16, fields: &[(&str, &str)]) -> ContentResponse {
        let origin = self.origin();
        let head = head(status, fields);
        let mut answer = answer::client_response(&head, &origin, true);
        rewrite::rewrite_head(&mut self.0, &origin, &head.fields, &mut answer);
        answer
    }

    /// Returns the field lines of [`client_response`](Self::client_response) for status 200.
    pub(super) fn lines(&mut self, fields: &[(&str, &str)]) -> String {
        text(&self.client_response(200, fields).lines)
    }
}

/// Builds the head of an origin's response.
pub(super) fn head(status: u16, fields: &[(&str, &str)]) -> ResponseHead {
    let mut head = ResponseHead::new(status);
    for (name, value) in fields {
        head.fields.push(name.as_bytes(), value.as_bytes());
    }
    head
}

/// Converts bytes to a string.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// Returns a body in memory.
pub(super) fn bytes(text: &'static str) -> RequestPayload {
    RequestPayload::Bytes(Bytes::from_static(text.as_bytes()))
}

/// Returns a streamed body, with its length if known.
pub(super) fn stream(length: Option<u64>) -> RequestPayload {
    RequestPayload::Stream(myriad_exchange::exchange::pull_body(ResponseBody::None), length)
}
