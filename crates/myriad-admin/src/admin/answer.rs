//! Responses to administrator requests, line by line.

use crate::protocol::{Ended, Reply, Request};

use super::administrator::{Administrator, Tell};

impl Administrator {
    /// Answers a request: `tell` receives each line of the response. The last line is [`Reply::End`] or
    /// [`Reply::Error`], unless `tell` returns false before.
    pub fn answer(&self, request: &Request, tell: &mut Tell<'_>) {
        if self.hides_values {
            self.answer_to(request, &mut |mut reply| {
                reply.hide_values();
                tell(reply)
            });
        } else {
            self.answer_to(request, tell);
        }
    }

    fn answer_to(&self, request: &Request, tell: &mut Tell<'_>) {
        let end = match request {
            Request::Stats(request) => self.stats(request, tell),
            Request::Memory(_) => {
                tell(Reply::Memory(Box::new(self.memory.report(self.zones.iter()))));
                Ok(Ended::default())
            }
            Request::Pages(request) => self.list(request, tell),
            Request::Page(request) => self.show(request, tell),
            Request::Purge(request) => self.purge(request, tell),
            Request::Upstreams(request) => self.upstreams(request, tell),
            Request::ChangeUpstream(request) => self.change_upstream(request, tell),
            Request::Live(request) => self.live(request, tell),
            Request::Tops(request) => self.tops(request, tell),
            Request::History(request) => self.history(request, tell),
            Request::Purges(request) => self.purges(request, tell),
            Request::Tags(request) => self.tags(request, tell),
            Request::Senders(_) => self.senders(tell),
        };
        match end {
            Ok(end) => tell(Reply::End(end)),
            Err(error) => tell(Reply::Error(error)),
        };
    }
}
