//! What is told: a line of JSON each, the last of which says that it is the last.

use serde::{Deserialize, Serialize};

use crate::sight::{HistoryReport, PurgeEvent, SendersReport, TagsReport, Tick, TopsReport};
use crate::{PageReport, PeerReport, ProcessMemoryReport, PurgeReport, ZoneReport};

/// One line of an answer over the control socket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// The figures of a zone.
    Zone(Box<ZoneReport>),
    /// What holds the memory of the process.
    Memory(Box<ProcessMemoryReport>),
    /// A page.
    Page(Box<PageReport>),
    /// What became of one purge.
    Purge(Box<PurgeReport>),
    /// How a server of a group is doing.
    Peer(Box<PeerReport>),
    /// What happened in a second.
    Tick(Box<Tick>),
    /// A purge that was made, at whatever time.
    PurgeEvent(Box<PurgeEvent>),
    /// Pages by what they cost.
    Tops(Box<TopsReport>),
    /// Figures of the past.
    History(Box<HistoryReport>),
    /// The tags of stored pages.
    Tags(Box<TagsReport>),
    /// Senders with `X-Forwarded-For` that are not trusted.
    Senders(Box<SendersReport>),
    /// All was told.
    End(Ended),
    /// It could not be done, or no more of it; the last line too.
    Error(String),
}

/// The end of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ended {
    /// Where the next request goes on, where there may be more ([`crate::PagesRequest::after`]).
    pub next: Option<String>,
}

impl Reply {
    /// Reads one line; the error is for people.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(line).map_err(|error| error.to_string())
    }

    /// Appends the line, its line feed included.
    pub fn write(&self, out: &mut Vec<u8>) {
        // Writing to memory cannot fail, and strings, numbers and lists always have a JSON.
        let _ = serde_json::to_writer(&mut *out, self);
        out.push(b'\n');
    }

    /// The JSON of what is told alone, without the word that says what it is: for programs that know what they asked.
    pub fn json(&self) -> String {
        let json = match self {
            Self::Zone(zone) => serde_json::to_string(zone),
            Self::Memory(memory) => serde_json::to_string(memory),
            Self::Page(page) => serde_json::to_string(page),
            Self::Purge(purge) => serde_json::to_string(purge),
            Self::Peer(peer) => serde_json::to_string(peer),
            Self::Tick(tick) => serde_json::to_string(tick),
            Self::PurgeEvent(purge) => serde_json::to_string(purge),
            Self::Tops(tops) => serde_json::to_string(tops),
            Self::History(history) => serde_json::to_string(history),
            Self::Tags(tags) => serde_json::to_string(tags),
            Self::Senders(senders) => serde_json::to_string(senders),
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
            Reply::Zone(Box::default()),
            Reply::Memory(Box::default()),
            Reply::Page(Box::new(page)),
            Reply::Purge(Box::default()),
            Reply::Peer(Box::default()),
            Reply::Tick(Box::default()),
            Reply::PurgeEvent(Box::default()),
            Reply::Tops(Box::default()),
            Reply::History(Box::default()),
            Reply::Tags(Box::default()),
            Reply::End(Ended { next: Some("m1.2".into()) }),
            Reply::Error("no".into()),
        ] {
            let mut line = Vec::new();
            reply.write(&mut line);
            assert_eq!(line.split(|byte| *byte == b'\n').count(), 2);
            assert_eq!(Reply::parse(&line), Ok(reply));
        }
    }
}
