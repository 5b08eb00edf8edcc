//! The answer to a subrequest, in the hands of whoever asked.

use myriad_http::body::BoxBody;
use myriad_http::lines::lines_named;
use myriad_net::ResponseBody;

use super::body::ChildBody;
use super::child::Child;
use crate::exchange::{Answer, Exchange, pulled};

/// What a subrequest came to.
pub struct Subanswer {
    /// The answer, as the content gave it.
    pub answer: Answer,
    child: Child,
}

impl Subanswer {
    /// An answer, and the subrequest that it is of.
    pub(super) fn new(answer: Answer, child: Child) -> Self {
        Self { answer, child }
    }

    /// The subrequest itself, whose variables may be read.
    pub fn exchange(&mut self) -> &mut Exchange {
        &mut self.child.exchange
    }

    /// The body, as the filters of its place leave it.
    pub fn into_body(mut self) -> BoxBody {
        let engine = self.child.exchange.request.site.engine;
        let body = engine.body(&mut self.child.exchange, self.answer);
        Box::pin(ChildBody::new(body, self.child))
    }

    /// The body as the content gave it.
    pub fn into_plain_body(mut self) -> BoxBody {
        let body = std::mem::replace(&mut self.answer.body, ResponseBody::None);
        Box::pin(ChildBody::new(pulled(body), self.child))
    }

    /// The values of all fields of the answer with that name.
    pub fn fields(&self, name: &[u8]) -> Vec<Vec<u8>> {
        lines_named(&self.child.exchange.request.outcome.answered.fields, name).map(<[u8]>::to_vec).collect()
    }
}
