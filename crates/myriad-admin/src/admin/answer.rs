//! Responses to administrator requests, line by line.

use crate::protocol::{AdminReply, AdminRequest, ReplyEnd};

use super::administrator::{Administrator, ReplySink};

impl Administrator {
    /// Answers a request: `tell` receives each line of the response. The last line is [`AdminReply::End`] or
    /// [`AdminReply::Error`]; once `tell` has returned false, only this line follows, except for a change of an
    /// upstream group, which reports each of its servers.
    pub fn answer(&self, request: &AdminRequest, tell: &mut ReplySink<'_>) {
        if self.hides_values {
            self.answer_to(request, &mut |mut reply| {
                reply.hide_values();
                tell(reply)
            });
        } else {
            self.answer_to(request, tell);
        }
    }

    fn answer_to(&self, request: &AdminRequest, tell: &mut ReplySink<'_>) {
        let end = match request {
            AdminRequest::Stats(request) => self.stats(request, tell),
            AdminRequest::Memory(_) => {
                tell(AdminReply::Memory(Box::new(self.memory.report(self.zones.iter()))));
                Ok(ReplyEnd::default())
            }
            AdminRequest::Pages(request) => self.list(request, tell),
            AdminRequest::Page(request) => self.show(request, tell),
            AdminRequest::Image(request) => self.image(request, tell),
            AdminRequest::Purge(request) => self.purge(request, tell),
            AdminRequest::Upstreams(request) => self.upstreams(request, tell),
            AdminRequest::ChangeUpstream(request) => self.change_upstream(request, tell),
            AdminRequest::Live(request) => self.live(request, tell),
            AdminRequest::Tops(request) => self.tops(request, tell),
            AdminRequest::History(request) => self.history(request, tell),
            AdminRequest::Purges(request) => self.purges(request, tell),
            AdminRequest::Tags(request) => self.tags(request, tell),
            AdminRequest::Leaks(request) => self.leaks(request, tell),
            AdminRequest::Senders(_) => self.senders(tell),
            AdminRequest::Cluster(request) => self.cluster(request, tell),
        };
        match end {
            Ok(end) => tell(AdminReply::End(end)),
            Err(error) => tell(AdminReply::Error(error)),
        };
    }
}
