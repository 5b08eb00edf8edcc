//! Helpers: responses as a client receives them.

use std::task::{Context, Poll, Waker};

use myriad_exchange::exchange::{ContentResponse, Exchange, pull_body};
use myriad_http::HttpVersion;
use myriad_net::{Response, ResponseBody};
use myriad_output::send;
use myriad_serve::testing::{TestSite, immediate_answer};

/// Time of test requests, in milliseconds since the Unix epoch: Sun, 06 Nov 1994 08:49:37 GMT.
const NOW_MS: u64 = 784_111_777_000;

/// Site whose responses are converted by [`send`].
pub(super) struct OutputTestSite(TestSite);

/// Response as a client receives it.
pub(super) struct ReceivedResponse {
    /// Status code.
    pub status: u16,
    /// Header lines.
    pub head: String,
    /// Complete body.
    pub body: Vec<u8>,
    /// The response itself, without its body.
    pub response: Response<Box<Exchange>>,
}

impl OutputTestSite {
    /// Creates a site with one server that has these directives.
    pub(super) fn of(server: &str) -> Self {
        Self::with("", server)
    }

    /// Like [`of`](Self::of), with additional directives in `http`.
    pub(super) fn with(http: &str, server: &str) -> Self {
        Self(TestSite::new(&format!("access_log off; root /nowhere; {http}"), server))
    }

    /// Routes a request, such as `GET /path`, to its location. Returns the exchange and the result of the content
    /// handler.
    pub(super) fn asked(&self, request: &str, fields: &[(&str, &str)]) -> (Box<Exchange>, ContentResponse) {
        self.asked_in(HttpVersion::Http11, request, fields)
    }

    /// Like [`asked`](Self::asked), with an HTTP version.
    pub(super) fn asked_in(
        &self,
        version: HttpVersion,
        request: &str,
        fields: &[(&str, &str)],
    ) -> (Box<Exchange>, ContentResponse) {
        let line = request.split_once(' ').expect("a method and a target");
        let mut fields = fields.to_vec();
        fields.push(("Host", "localhost"));
        let mut exchange = self.0.received_request(version, line, &fields);
        exchange.request.received.at_ms = NOW_MS;
        let answer = immediate_answer(&mut exchange)
            .unwrap_or_else(|| panic!("{request} is not answered immediately"));
        (exchange, answer)
    }

    /// Returns the response to a request.
    pub(super) fn get(&self, request: &str, fields: &[(&str, &str)]) -> ReceivedResponse {
        let (exchange, answer) = self.asked(request, fields);
        sent(exchange, answer)
    }

    /// Returns the response to a request whose content handler returned `answer`.
    pub(super) fn answered(
        &self,
        request: &str,
        fields: &[(&str, &str)],
        answer: ContentResponse,
    ) -> ReceivedResponse {
        sent(self.asked(request, fields).0, answer)
    }
}

/// Converts the result of a content handler to a response, and reads its body.
pub(super) fn sent(exchange: Box<Exchange>, answer: ContentResponse) -> ReceivedResponse {
    let mut response = send(exchange, answer);
    let body = whole(std::mem::replace(&mut response.body, ResponseBody::None));
    let head = String::from_utf8(response.head.fields().to_vec()).expect("text");
    ReceivedResponse { status: response.head.status(), head, body, response }
}

/// Returns a 200 with a text body, as a result of a content handler.
pub(super) fn text(media_type: &'static str, body: &'static str) -> ContentResponse {
    let mut answer = ContentResponse::new(200, ResponseBody::Full(body.as_bytes().into()));
    answer.media_type = Some(media_type.as_bytes().into());
    answer
}

/// Returns a complete body, which must be available without waiting.
pub(super) fn whole(body: ResponseBody) -> Vec<u8> {
    let mut body = pull_body(body);
    let mut all = Vec::new();
    loop {
        match body.as_mut().poll_data(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(piece)) => all.extend_from_slice(&piece.expect("a whole body")),
            Poll::Ready(None) => return all,
            Poll::Pending => panic!("the body is not available immediately"),
        }
    }
}
