//! Untrusted senders of `X-Forwarded-For`.

use crate::protocol::sight::{SenderReport, SendersReport};
use crate::protocol::{Ended, Reply};

use crate::admin::{Administrator, End, Tell};

impl Administrator {
    pub(crate) fn senders(&self, tell: &mut Tell<'_>) -> End {
        let counts = self.sight()?.senders.counts();
        let address = |sender: Option<std::net::IpAddr>| {
            sender.map_or_else(|| "unix:".to_owned(), |sender| sender.to_string())
        };
        let senders = counts
            .senders
            .into_iter()
            .map(|(sender, requests)| SenderReport { address: address(sender), requests });
        let report = SendersReport { senders: senders.collect(), others: counts.others };
        tell(Reply::Senders(Box::new(report)));
        Ok(Ended::default())
    }
}
