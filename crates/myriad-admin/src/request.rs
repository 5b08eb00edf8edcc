//! What is asked.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::sight::{HistoryRequest, LiveRequest, PurgesRequest, SendersRequest, TagsRequest, TopsRequest};

/// Bytes of the longest request, its line feed included: a thousand long URLs fit.
pub const MOST_REQUEST_BYTES: usize = 1 << 20;
/// URLs, tags and patterns that one request may purge.
pub const MOST_PURGES: usize = 10_000;

/// Bytes of the longest `match`.
const MOST_PATTERN_BYTES: usize = 1024;

/// A request over the control socket: one line of JSON such as `{"pages":{"zone":"pages"}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// The figures of all zones.
    Stats(StatsRequest),
    /// What holds the memory of the process.
    Memory(MemoryRequest),
    /// What is stored.
    Pages(PagesRequest),
    /// All that is known of one page.
    Page(PageRequest),
    /// Take pages out.
    Purge(PurgeRequest),
    /// How servers of `upstream` groups are doing.
    Upstreams(UpstreamsRequest),
    /// Put servers of a group into service, or take them out of it.
    ChangeUpstream(UpstreamChange),
    /// What happens, each second.
    Live(LiveRequest),
    /// Pages by what they cost.
    Tops(TopsRequest),
    /// Figures of the past.
    History(HistoryRequest),
    /// The last purges.
    Purges(PurgesRequest),
    /// The tags of stored pages.
    Tags(TagsRequest),
    /// Senders with `X-Forwarded-For` that are not trusted.
    Senders(SendersRequest),
}

/// Which servers of groups are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UpstreamsRequest {
    /// One group; all where it is not named.
    pub group: Option<String>,
    /// One server, by its name in the configuration or by its address; all where it is not named.
    pub server: Option<String>,
}

/// What is to become of servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpstreamChange {
    /// Their group.
    pub group: String,
    /// One server, by its name in the configuration or by its address; all of the group where it is not named.
    #[serde(default)]
    pub server: Option<String>,
    /// What they are to be.
    pub state: WantedState,
}

/// What a server is to be, whatever the configuration says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WantedState {
    /// In service.
    Up,
    /// Only for visitors who are its own (`sticky`).
    Drain,
    /// Out of service.
    Down,
}

impl WantedState {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Drain => "drain",
            Self::Down => "down",
        }
    }
}

/// Which zones' figures are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StatsRequest {
    /// One zone; all where it is not named.
    pub zone: Option<String>,
}

/// What holds the memory of the process: there is nothing to choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryRequest {}

/// Which pages are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PagesRequest {
    /// One zone; all where it is not named.
    pub zone: Option<String>,
    /// Pages of this host.
    pub host: Option<String>,
    /// Pages whose URL or key this fits ([`crate::Pattern`]).
    #[serde(rename = "match")]
    pub matching: Option<String>,
    /// Most pages that are told.
    pub limit: Option<u64>,
    /// The place where an earlier answer ended ([`crate::Ended::next`]).
    pub after: Option<String>,
}

/// Which page is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageRequest {
    /// Its URL, or its key as it is shown.
    pub page: String,
    /// One zone; all where it is not named.
    pub zone: Option<String>,
}

/// What is to be purged: the union of all that is named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PurgeRequest {
    /// URLs, `http://host/path?query`; all their variants go.
    pub urls: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// URLs with `*`.
    pub wildcards: Vec<String>,
    /// Regular expressions over URLs.
    pub regexes: Vec<String>,
    /// Everything of these hosts.
    pub hosts: Vec<String>,
    /// Everything.
    pub all: bool,
    /// Leave the pages, stale from now on: the next visitor has them refreshed.
    pub soft: bool,
    /// Leave the pages for when their origin fails; until then they are fetched before anybody sees them again.
    pub invalidate: bool,
    /// One zone; all where it is not named.
    pub zone: Option<String>,
    /// Answer only once what a pattern covers has been found and counted.
    pub wait: bool,
}

/// Why a request was not understood; the text is for whoever sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError(String);

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RequestError {}

impl Request {
    /// Reads one line.
    pub fn parse(line: &[u8]) -> Result<Self, RequestError> {
        let request: Self = read(line)?;
        match &request {
            Self::Purge(purge) => purge.check()?,
            Self::Page(page) if page.page.is_empty() => return Err(told("no page is named")),
            Self::Pages(pages) => pages.check()?,
            Self::ChangeUpstream(change) => change.check()?,
            _ => {}
        }
        Ok(request)
    }

    /// The line, its line feed included.
    pub fn line(&self) -> String {
        // Strings, numbers and lists always have a JSON.
        let mut line = serde_json::to_string(self).unwrap_or_default();
        line.push('\n');
        line
    }
}

/// Reads what the HTTP API is sent.
pub fn parse_purge(body: &[u8]) -> Result<PurgeRequest, RequestError> {
    let purge: PurgeRequest = read(body)?;
    purge.check()?;
    Ok(purge)
}

/// Reads what the HTTP API is sent of a group.
pub fn parse_upstream_change(body: &[u8]) -> Result<UpstreamChange, RequestError> {
    let change: UpstreamChange = read(body)?;
    change.check()?;
    Ok(change)
}

impl UpstreamChange {
    fn check(&self) -> Result<(), RequestError> {
        if self.group.is_empty() || self.server.as_ref().is_some_and(String::is_empty) {
            return Err(told("an empty text names no group and no server"));
        }
        Ok(())
    }
}

impl PagesRequest {
    /// Whether it can be answered.
    pub fn check(&self) -> Result<(), RequestError> {
        match &self.matching {
            Some(pattern) if pattern.len() > MOST_PATTERN_BYTES => {
                Err(told(&format!("the pattern is longer than {MOST_PATTERN_BYTES} bytes")))
            }
            _ => Ok(()),
        }
    }
}

impl PurgeRequest {
    /// How many purges it asks for.
    pub fn len(&self) -> usize {
        let lists = [&self.urls, &self.tags, &self.wildcards, &self.regexes, &self.hosts];
        lists.iter().map(|list| list.len()).sum::<usize>() + usize::from(self.all)
    }

    /// Whether it asks for none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn check(&self) -> Result<(), RequestError> {
        if self.is_empty() {
            return Err(told("nothing to purge: name urls, tags, wildcards, regexes, hosts or all"));
        }
        if self.len() > MOST_PURGES {
            return Err(told(&format!("more than {MOST_PURGES} purges in one request")));
        }
        let lists = [&self.urls, &self.tags, &self.wildcards, &self.regexes, &self.hosts];
        if lists.into_iter().flatten().any(String::is_empty) {
            return Err(told("an empty text purges nothing: name \"all\" to purge everything"));
        }
        Ok(())
    }
}

fn told(text: &str) -> RequestError {
    RequestError(text.to_owned())
}

fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, RequestError> {
    if bytes.len() > MOST_REQUEST_BYTES {
        return Err(told(&format!("the request is longer than {MOST_REQUEST_BYTES} bytes")));
    }
    serde_json::from_slice(bytes).map_err(|error| RequestError(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change() -> UpstreamChange {
        UpstreamChange { group: "g".into(), server: Some("a:80".into()), state: WantedState::Drain }
    }

    #[test]
    fn what_is_written_is_read() {
        let purge = PurgeRequest {
            urls: vec!["http://a/b?c\n\"".into()],
            tags: vec!["é".into()],
            soft: true,
            zone: Some("z".into()),
            ..PurgeRequest::default()
        };
        let pages = PagesRequest { matching: Some("*x*".into()), limit: Some(7), ..PagesRequest::default() };
        let page = PageRequest { page: "k".into(), zone: None };
        for request in [
            Request::Stats(StatsRequest::default()),
            Request::Memory(MemoryRequest {}),
            Request::Pages(pages),
            Request::Page(page),
            Request::Purge(purge),
            Request::Upstreams(UpstreamsRequest { group: Some("g".into()), server: None }),
            Request::ChangeUpstream(change()),
            Request::Live(LiveRequest { ticks: 3 }),
            Request::Tops(TopsRequest { by: Some("misses".into()), limit: Some(5) }),
            Request::History(HistoryRequest::default()),
            Request::Purges(PurgesRequest::default()),
            Request::Tags(TagsRequest::default()),
            Request::Senders(SendersRequest {}),
        ] {
            let line = request.line();
            assert_eq!(line.matches('\n').count(), 1);
            assert_eq!(Request::parse(line.as_bytes()), Ok(request));
        }
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        assert_eq!(Request::parse(b"{\"stats\":{}}"), Ok(Request::Stats(StatsRequest::default())));
        let all = parse_purge(b"{\"all\":true}").expect("a purge");
        assert!(all.all && !all.soft && all.zone.is_none());
        let pages = Request::parse(b" {\"pages\" : {\"match\":\"a\"}} \n");
        assert!(matches!(pages, Ok(Request::Pages(pages)) if pages.matching.as_deref() == Some("a")));
    }

    #[test]
    fn what_is_misspelt_or_means_nothing_is_told() {
        let error = |text: &str| Request::parse(text.as_bytes()).expect_err(text).to_string();
        assert!(error("{\"stats\":{\"zones\":1}}").contains("unknown field `zones`"));
        assert!(error("{\"purge\":{}}").contains("nothing to purge"));
        assert!(error("{\"purge\":{\"tags\":[\"\"]}}").contains("an empty text purges nothing"));
        assert!(error("{\"page\":{}}").contains("no page"));
        assert!(error("{\"change-upstream\":{\"group\":\"\",\"state\":\"up\"}}").contains("names no group"));
        assert!(error("{\"change-upstream\":{\"group\":\"g\"}}").contains("missing field `state`"));
        assert!(
            error("{\"change-upstream\":{\"group\":\"g\",\"state\":\"off\"}}")
                .contains("unknown variant `off`")
        );
        assert!(error("").contains("EOF") && error("[").contains("line 1"));
        assert!(error("{\"stats\":{}} x").contains("trailing"));
        let many = PurgeRequest { tags: vec!["t".into(); MOST_PURGES + 1], ..PurgeRequest::default() };
        assert!(error(&Request::Purge(many).line()).contains("more than"));
    }

    #[test]
    fn no_depth_and_no_length_harms() {
        let deep = "[".repeat(MOST_REQUEST_BYTES);
        assert!(Request::parse(deep.as_bytes()).is_err());
        let long = format!("{{\"page\":{{\"page\":\"{}\"}}}}", "x".repeat(MOST_REQUEST_BYTES));
        assert!(Request::parse(long.as_bytes()).expect_err("long").to_string().contains("longer than"));
    }

    #[test]
    fn mutated_lines_are_read_or_refused() {
        let seeds = [
            Request::Pages(PagesRequest {
                limit: Some(3),
                host: Some("a".into()),
                ..PagesRequest::default()
            }),
            Request::Purge(PurgeRequest { urls: vec!["u".into()], wait: true, ..PurgeRequest::default() }),
            Request::ChangeUpstream(change()),
        ];
        let mut rng = fastrand::Rng::with_seed(11);
        for round in 0..20_000 {
            let mut line = seeds[round % seeds.len()].line().into_bytes();
            for _ in 0..rng.usize(1..4) {
                let at = rng.usize(..line.len());
                match rng.u8(..3) {
                    0 => line[at] = rng.u8(..),
                    1 => line.truncate(at.max(1)),
                    _ => line.insert(at, b"{}[]\",:\\0e"[rng.usize(..10)]),
                }
            }
            // What was understood is understood again when it is said back.
            if let Ok(request) = Request::parse(&line) {
                assert_eq!(Request::parse(request.line().as_bytes()), Ok(request));
            }
        }
    }
}
