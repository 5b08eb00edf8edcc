//! Replies: lines of JSON; the last line of a response is [`AdminReply::End`] or [`AdminReply::Error`].

use serde::{Deserialize, Serialize};

use crate::protocol::monitoring::{
    HistoryReport, LeakReport, LiveTick, PurgeEvent, SendersReport, TagsReport, TopsReport,
};
use crate::protocol::{
    ClusterReport, ImageCopyReport, PageReport, PeerReport, ProcessMemoryReport, PurgeReport, ZoneReport,
};

/// Line of a response to an administration request, of one of these kinds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdminReply {
    /// Statistics of a cache zone.
    Zone(Box<ZoneReport>),
    /// Memory of the process by part.
    Memory(Box<ProcessMemoryReport>),
    /// Stored page.
    Page(Box<PageReport>),
    /// WebP copy of an image, or the reason why there is none.
    Image(Box<ImageCopyReport>),
    /// Result of a purge.
    Purge(Box<PurgeReport>),
    /// Status of a server of an upstream group.
    Peer(Box<PeerReport>),
    /// Live event, sent every second.
    Tick(Box<LiveTick>),
    /// Executed purge, or a change of a page without a purge; as a live event, sent before the next tick.
    PurgeEvent(Box<PurgeEvent>),
    /// Pages ranked by cost.
    Tops(Box<TopsReport>),
    /// History of traffic figures.
    History(Box<HistoryReport>),
    /// Tags of stored pages.
    Tags(Box<TagsReport>),
    /// Finding of the leak guard.
    Leak(Box<LeakReport>),
    /// Senders of `X-Forwarded-For` that are not trusted proxies.
    Senders(Box<SendersReport>),
    /// Status of the cluster.
    Cluster(Box<ClusterReport>),
    /// Last line of a complete response.
    End(ReplyEnd),
    /// Last line of a response that failed or was aborted, with a message for the user.
    Error(String),
}

/// Content of the last line of a complete response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplyEnd {
    /// Position for the next request, if there may be more results ([`crate::protocol::PagesRequest::after`]);
    /// otherwise `None`.
    pub next: Option<String>,
}

impl AdminReply {
    /// Parses a line of a response. Returns an error message for the user if it is invalid.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(line).map_err(|error| error.to_string())
    }

    /// Appends the line as JSON, with a line feed.
    pub fn write(&self, out: &mut Vec<u8>) {
        // Writing to memory cannot fail, and all contents can be represented as JSON.
        let _ = serde_json::to_writer(&mut *out, self);
        out.push(b'\n');
    }

    /// Returns the JSON of the content without the name of its kind, for clients that know which kind they requested.
    pub fn json(&self) -> String {
        let json = match self {
            Self::Zone(zone) => serde_json::to_string(zone),
            Self::Memory(memory) => serde_json::to_string(memory),
            Self::Page(page) => serde_json::to_string(page),
            Self::Image(image) => serde_json::to_string(image),
            Self::Purge(purge) => serde_json::to_string(purge),
            Self::Peer(peer) => serde_json::to_string(peer),
            Self::Tick(tick) => serde_json::to_string(tick),
            Self::PurgeEvent(purge) => serde_json::to_string(purge),
            Self::Tops(tops) => serde_json::to_string(tops),
            Self::History(history) => serde_json::to_string(history),
            Self::Tags(tags) => serde_json::to_string(tags),
            Self::Leak(leak) => serde_json::to_string(leak),
            Self::Senders(senders) => serde_json::to_string(senders),
            Self::Cluster(cluster) => serde_json::to_string(cluster),
            Self::End(end) => serde_json::to_string(end),
            Self::Error(error) => serde_json::to_string(error),
        };
        json.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let page = PageReport { key: "k\n".into(), hits: 3, ..PageReport::default() };
        for reply in [
            AdminReply::Zone(Box::default()),
            AdminReply::Memory(Box::default()),
            AdminReply::Image(Box::default()),
            AdminReply::Page(Box::new(page)),
            AdminReply::Purge(Box::default()),
            AdminReply::Peer(Box::default()),
            AdminReply::Tick(Box::default()),
            AdminReply::PurgeEvent(Box::default()),
            AdminReply::Tops(Box::default()),
            AdminReply::History(Box::default()),
            AdminReply::Tags(Box::default()),
            AdminReply::Leak(Box::default()),
            AdminReply::Cluster(Box::default()),
            AdminReply::End(ReplyEnd { next: Some("m1.2".into()) }),
            AdminReply::Error("no".into()),
        ] {
            let mut line = Vec::new();
            reply.write(&mut line);
            assert_eq!(line.split(|byte| *byte == b'\n').count(), 2);
            assert_eq!(AdminReply::parse(&line), Ok(reply));
        }
    }
}
