//! Response to a subrequest, owned by its parent.

use myriad_http::body::BoxBody;
use myriad_http::lines::lines_named;
use myriad_net::ResponseBody;

use super::body::ChildBody;
use super::child::Child;
use crate::exchange::{ContentResponse, Exchange, Request, pull_body};

/// Response to a subrequest, with its exchange.
pub struct SubrequestResponse {
    /// Response of the subrequest's content handler, before filters.
    pub response: ContentResponse,
    child: Child,
}

impl SubrequestResponse {
    /// Creates the response of a subrequest.
    pub(super) fn new(answer: ContentResponse, child: Child) -> Self {
        Self { response: answer, child }
    }

    /// Returns the exchange of the subrequest, from which its variables can be read.
    pub fn exchange(&mut self) -> &mut Exchange {
        &mut self.child.exchange
    }

    /// Returns the request of the subrequest, with its state.
    pub fn request(&self) -> &Request {
        &self.child.exchange.request
    }

    /// Returns the body, processed by the filters of the subrequest's location.
    pub fn into_body(mut self) -> BoxBody {
        let engine = self.child.exchange.request.site.engine;
        let body = engine.body(&mut self.child.exchange, self.response);
        Box::pin(ChildBody::new(body, self.child))
    }

    /// Returns the body as the content handler produced it, not processed by filters.
    pub fn into_plain_body(mut self) -> BoxBody {
        let body = std::mem::replace(&mut self.response.body, ResponseBody::None);
        Box::pin(ChildBody::new(pull_body(body), self.child))
    }

    /// Returns the values of all header fields of the response that have the name `name`.
    pub fn fields(&self, name: &[u8]) -> Vec<Vec<u8>> {
        lines_named(&self.child.exchange.request.outcome.head.fields, name).map(<[u8]>::to_vec).collect()
    }
}
