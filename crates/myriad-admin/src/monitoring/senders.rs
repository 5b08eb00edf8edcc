//! Response with the senders of `X-Forwarded-For` that are not trusted proxies.

use crate::protocol::monitoring::{SenderReport, SendersReport};
use crate::protocol::{AdminReply, ReplyEnd};

use crate::admin::{Administrator, ReplyResult, ReplySink};

impl Administrator {
    pub(crate) fn senders(&self, tell: &mut ReplySink<'_>) -> ReplyResult {
        let counts = self.sight()?.senders.counts();
        let address = |sender: Option<std::net::IpAddr>| {
            sender.map_or_else(|| "unix:".to_owned(), |sender| sender.to_string())
        };
        let senders = counts
            .senders
            .into_iter()
            .map(|(sender, requests)| SenderReport { address: address(sender), requests });
        let report = SendersReport { senders: senders.collect(), others: counts.others };
        tell(AdminReply::Senders(Box::new(report)));
        Ok(ReplyEnd::default())
    }
}
