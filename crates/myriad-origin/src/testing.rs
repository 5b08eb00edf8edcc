//! For unit tests: what an origin would be asked, and what a visitor would get of its answer.

use std::sync::Arc;

use bytes::Bytes;
use myriad_http::{ResponseHead, Version};
use myriad_net::ResponseBody;
use myriad_upstream::{Attempts, OriginRequest, Protocol, RequestPayload};

use crate::{answer, make, rewrite};
use myriad_exchange::exchange::{Answer, Exchange, Purpose};
use myriad_exchange::runtime::{MakeError, OriginPlace};
use myriad_serve::testing::{TestSite, answered_at_once};

/// A request that has come to a place with an origin, which nobody has asked yet.
pub(crate) struct Trial(pub Box<Exchange>);

/// The head of a request to an HTTP origin, and what goes with it.
pub(crate) struct Head {
    /// The request line, without its end.
    pub line: String,
    /// The field lines, without the empty one.
    pub fields: String,
    /// Whether the connection may be kept.
    pub keep_alive: bool,
    /// The protocols that the origin may switch to.
    pub upgrade: Bytes,
}

impl Head {
    /// The values of a field, in order; its name in any case.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let lines =
            self.fields.split_terminator("\r\n").map(|line| line.split_once(": ").expect("a field line"));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
    }
}

impl Trial {
    /// A request `METHOD /target`, with these fields, to a server of these directives.
    pub(crate) fn of(server: &str, line: &str, fields: &[(&str, &str)]) -> Self {
        Self::of_version(Version::Http11, server, line, fields)
    }

    /// As [`of`](Self::of), in a version of HTTP.
    pub(crate) fn of_version(version: Version, server: &str, line: &str, fields: &[(&str, &str)]) -> Self {
        let mut fields = fields.to_vec();
        fields.push(("Host", "visited.test"));
        let line = line.split_once(' ').expect("a method and a target");
        let mut exchange = TestSite::new("", server).received(version, line, &fields);
        let answer = answered_at_once(&mut exchange);
        assert!(answer.is_none(), "{line:?} came to no origin");
        Self(exchange)
    }

    /// The origin of the place.
    pub(crate) fn origin(&self) -> Arc<OriginPlace> {
        Arc::clone(self.0.request.place().handler.origin().expect("the place asks an origin"))
    }

    /// What the origin is asked for this visitor, with this body.
    pub(crate) fn made(&mut self, payload: RequestPayload) -> Result<OriginRequest, MakeError> {
        self.made_for(Purpose::Visitor, payload)
    }

    /// As [`made`](Self::made), for a purpose.
    pub(crate) fn made_for(
        &mut self,
        purpose: Purpose<'_>,
        payload: RequestPayload,
    ) -> Result<OriginRequest, MakeError> {
        let origin = self.origin();
        make::make(&mut self.0, &origin, purpose, payload, Attempts::default())
    }

    /// What an HTTP origin is asked, with this body.
    pub(crate) fn asked(&mut self, payload: RequestPayload) -> Head {
        let request = self.made(payload).expect("a request");
        let Protocol::Http { head, keep_alive, upgrade } = request.protocol else {
            panic!("the origin does not speak HTTP")
        };
        let text = std::str::from_utf8(&head).expect("text").to_owned();
        let (line, rest) = text.split_once("\r\n").expect("a request line");
        let end = rest.strip_suffix("\r\n").expect("an empty line at the end");
        assert!(!end.contains("\r\n\r\n") && !end.starts_with("\r\n"), "the head ends once: {text:?}");
        Head { line: line.to_owned(), fields: end.to_owned(), keep_alive, upgrade }
    }

    /// The request line that an HTTP origin gets.
    pub(crate) fn line(&mut self) -> String {
        self.asked(RequestPayload::Empty).line
    }

    /// The environment that a FastCGI origin gets, as `NAME=value` in its order.
    pub(crate) fn environment(&mut self) -> Vec<String> {
        let request = self.made(RequestPayload::Empty).expect("a request");
        let Protocol::FastCgi { params, .. } = request.protocol else {
            panic!("the origin does not speak FastCGI")
        };
        let pairs = myriad_fastcgi::params::pairs(&params);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        pairs.map(|(name, value)| format!("{}={}", text(name), text(value))).collect()
    }

    /// The answer that this visitor gets where the origin answers so, without its body.
    pub(crate) fn answered(&mut self, status: u16, fields: &[(&str, &str)]) -> Answer {
        let origin = self.origin();
        let head = head(status, fields);
        let mut answer = answer::answer(&head, &origin, true);
        rewrite::rewrite_head(&mut self.0, &origin, &head.fields, &mut answer);
        answer
    }

    /// The field lines of [`answered`](Self::answered).
    pub(crate) fn lines(&mut self, fields: &[(&str, &str)]) -> String {
        text(&self.answered(200, fields).lines)
    }
}

/// The head of an origin's answer.
pub(crate) fn head(status: u16, fields: &[(&str, &str)]) -> ResponseHead {
    let mut head = ResponseHead::new(status);
    for (name, value) in fields {
        head.fields.push(name.as_bytes(), value.as_bytes());
    }
    head
}

/// Bytes as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// A body in memory.
pub(crate) fn bytes(text: &'static str) -> RequestPayload {
    RequestPayload::Bytes(Bytes::from_static(text.as_bytes()))
}

/// A body that is sent as it comes, of that length where it is known.
pub(crate) fn stream(length: Option<u64>) -> RequestPayload {
    RequestPayload::Stream(myriad_exchange::exchange::pulled(ResponseBody::None), length)
}
