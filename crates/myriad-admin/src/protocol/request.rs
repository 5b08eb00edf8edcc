//! Requests of the control socket and the HTTP API.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::protocol::monitoring::{
    HistoryRequest, LeaksRequest, LiveRequest, PurgesRequest, SendersRequest, TagsRequest, TopsRequest,
};

/// Maximum length in bytes of an administration request (a line of the control socket with its line feed, or the body
/// of an API request): enough for a thousand long URLs.
pub const MOST_REQUEST_BYTES: usize = 1 << 20;
/// Maximum number of purges in one request: each URL, tag, pattern and host counts as one, and so does `all`.
pub const MOST_PURGES: usize = 10_000;

/// Maximum length of the pattern `match` of a list of pages, in bytes.
const MOST_PATTERN_BYTES: usize = 1024;

/// Request over the control socket: a line of JSON such as `{"pages":{"zone":"pages"}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdminRequest {
    /// Statistics of cache zones.
    Stats(StatsRequest),
    /// Memory of the process by part.
    Memory(MemoryRequest),
    /// List of stored pages.
    Pages(PagesRequest),
    /// Details of a page.
    Page(PageRequest),
    /// WebP copy of an image that is a file of this server.
    Image(ImageCopyRequest),
    /// Purge of pages.
    Purge(PurgeRequest),
    /// Status of servers of upstream groups.
    Upstreams(UpstreamsRequest),
    /// Change of the state of servers of an upstream group.
    ChangeUpstream(UpstreamChange),
    /// Live events.
    Live(LiveRequest),
    /// Pages ranked by cost.
    Tops(TopsRequest),
    /// History of traffic figures.
    History(HistoryRequest),
    /// Last purges, and changes of pages without a purge.
    Purges(PurgesRequest),
    /// Tags of stored pages.
    Tags(TagsRequest),
    /// Findings of the leak guard.
    Leaks(LeaksRequest),
    /// Senders of `X-Forwarded-For` that are not trusted proxies.
    Senders(SendersRequest),
    /// Status of the cluster.
    Cluster(ClusterRequest),
}

/// Request for the status of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterRequest {
    /// Name of a node that will not return and is removed from the cluster first; `None` for the status only.
    pub forget: Option<String>,
}

/// Selection of servers of upstream groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UpstreamsRequest {
    /// Name of the upstream group; `None` for all.
    pub group: Option<String>,
    /// Name of the server in the configuration, or its address; `None` for all.
    pub server: Option<String>,
}

/// Change of the state of servers of an upstream group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpstreamChange {
    /// Name of the upstream group.
    pub group: String,
    /// Name of the server in the configuration, or its address; `None` for all servers of the group.
    #[serde(default)]
    pub server: Option<String>,
    /// State to set.
    pub state: WantedState,
}

/// State of an upstream server that overrides the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WantedState {
    /// In service.
    Up,
    /// Only for clients that are already bound to the server (`sticky`).
    Drain,
    /// Out of service.
    Down,
}

impl WantedState {
    /// Returns the keyword of the state, as in requests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Drain => "drain",
            Self::Down => "down",
        }
    }
}

/// Selection of zones for statistics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StatsRequest {
    /// Name of the cache zone; `None` for all.
    pub zone: Option<String>,
}

/// Memory request, without parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryRequest {}

/// Selection of pages; all conditions are combined.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PagesRequest {
    /// Name of the cache zone; `None` for all.
    pub zone: Option<String>,
    /// Host of the pages; `None` for any.
    pub host: Option<String>,
    /// Pattern that the URL or key of the pages must match ([`crate::protocol::GlobPattern`]); `None` for any.
    #[serde(rename = "match")]
    pub matching: Option<String>,
    /// Maximum number of pages; `None` for no limit.
    pub limit: Option<u64>,
    /// Continuation position of an earlier response ([`crate::protocol::ReplyEnd::next`]); `None` for the start.
    pub after: Option<String>,
}

/// Selection of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageRequest {
    /// URL of the page, or its key as printed in reports.
    pub page: String,
    /// Name of the cache zone; `None` for all.
    pub zone: Option<String>,
    /// True to include the body of a page with ESI fragments.
    pub body: bool,
}

/// Selection of an image that is a file of this server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImageCopyRequest {
    /// URL of the image. Its query is ignored.
    pub url: String,
}

/// Purge of all pages that match any of the conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PurgeRequest {
    /// URLs of the form `http://host/path?query`; all variants are purged.
    pub urls: Vec<String>,
    /// Cache tags; pages with any of them are purged.
    pub tags: Vec<String>,
    /// URLs with `*` as wildcard.
    pub wildcards: Vec<String>,
    /// Regular expressions that are matched against the path and query of pages of any host.
    pub regexes: Vec<String>,
    /// Hosts, all of whose pages are purged.
    pub hosts: Vec<String>,
    /// True if all pages are purged.
    pub all: bool,
    /// True if the pages become stale instead of being removed; the next request refreshes them. Ignored with
    /// `invalidate`.
    pub soft: bool,
    /// True if the pages are retained, but used only if the origin fails: the next request fetches them first.
    pub invalidate: bool,
    /// Name of the cache zone; `None` for all.
    pub zone: Option<String>,
    /// True if the response waits until the pages of patterns have been found and counted, at most four minutes per
    /// zone.
    pub wait: bool,
}

/// Reason why a request is invalid, as a text for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError(String);

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RequestError {}

impl AdminRequest {
    /// Parses the JSON line of a request. Returns an error if it is too long or invalid JSON, has unknown fields, or
    /// contains invalid values.
    pub fn parse(line: &[u8]) -> Result<Self, RequestError> {
        let request: Self = read(line)?;
        match &request {
            Self::Purge(purge) => purge.check()?,
            Self::Page(page) if page.page.is_empty() => {
                return Err(request_error("\"page\" must not be empty"));
            }
            Self::Pages(pages) => pages.check()?,
            Self::ChangeUpstream(change) => change.check()?,
            _ => {}
        }
        Ok(request)
    }

    /// Returns the request as JSON, with a line feed.
    pub fn line(&self) -> String {
        // All contents can be represented as JSON.
        let mut line = serde_json::to_string(self).unwrap_or_default();
        line.push('\n');
        line
    }
}

/// Parses a purge in the body of an HTTP API request. Returns an error if it is too long or invalid JSON, has unknown
/// fields, purges nothing, or contains more than [`MOST_PURGES`] purges or an empty value.
pub fn parse_purge(body: &[u8]) -> Result<PurgeRequest, RequestError> {
    let purge: PurgeRequest = read(body)?;
    purge.check()?;
    Ok(purge)
}

/// Parses a change of an upstream group in the body of an HTTP API request. Returns an error if it is too long or
/// invalid JSON, has unknown fields, or the name of the group or server is empty.
pub fn parse_upstream_change(body: &[u8]) -> Result<UpstreamChange, RequestError> {
    let change: UpstreamChange = read(body)?;
    change.check()?;
    Ok(change)
}

impl UpstreamChange {
    fn check(&self) -> Result<(), RequestError> {
        if self.group.is_empty() || self.server.as_ref().is_some_and(String::is_empty) {
            return Err(request_error("the names of the group and the server must not be empty"));
        }
        Ok(())
    }
}

impl PagesRequest {
    /// Returns an error if the pattern is longer than 1,024 bytes.
    pub fn check(&self) -> Result<(), RequestError> {
        match &self.matching {
            Some(pattern) if pattern.len() > MOST_PATTERN_BYTES => {
                Err(request_error(&format!("the pattern is longer than {MOST_PATTERN_BYTES} bytes")))
            }
            _ => Ok(()),
        }
    }
}

impl PurgeRequest {
    /// Returns the number of purges in the request: each URL, tag, pattern and host counts, and so does `all`.
    pub fn len(&self) -> usize {
        let lists = [&self.urls, &self.tags, &self.wildcards, &self.regexes, &self.hosts];
        lists.iter().map(|list| list.len()).sum::<usize>() + usize::from(self.all)
    }

    /// Returns whether the request contains no purges.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn check(&self) -> Result<(), RequestError> {
        if self.is_empty() {
            return Err(request_error(
                "nothing to purge: specify urls, tags, wildcards, regexes, hosts or all",
            ));
        }
        if self.len() > MOST_PURGES {
            return Err(request_error(&format!("more than {MOST_PURGES} purges in one request")));
        }
        let lists = [&self.urls, &self.tags, &self.wildcards, &self.regexes, &self.hosts];
        if lists.into_iter().flatten().any(String::is_empty) {
            return Err(request_error("an empty value purges nothing; use \"all\" to purge everything"));
        }
        Ok(())
    }
}

fn request_error(text: &str) -> RequestError {
    RequestError(text.to_owned())
}

fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, RequestError> {
    if bytes.len() > MOST_REQUEST_BYTES {
        return Err(request_error(&format!("the request is longer than {MOST_REQUEST_BYTES} bytes")));
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
        let page = PageRequest { page: "k".into(), zone: None, body: false };
        for request in [
            AdminRequest::Stats(StatsRequest::default()),
            AdminRequest::Memory(MemoryRequest {}),
            AdminRequest::Pages(pages),
            AdminRequest::Page(page),
            AdminRequest::Image(ImageCopyRequest { url: "http://a/i.png".into() }),
            AdminRequest::Purge(purge),
            AdminRequest::Upstreams(UpstreamsRequest { group: Some("g".into()), server: None }),
            AdminRequest::ChangeUpstream(change()),
            AdminRequest::Live(LiveRequest { ticks: 3 }),
            AdminRequest::Tops(TopsRequest { by: Some("misses".into()), limit: Some(5) }),
            AdminRequest::History(HistoryRequest::default()),
            AdminRequest::Purges(PurgesRequest::default()),
            AdminRequest::Tags(TagsRequest::default()),
            AdminRequest::Leaks(LeaksRequest { zone: None, forgive: Some("all".into()) }),
            AdminRequest::Senders(SendersRequest {}),
            AdminRequest::Cluster(ClusterRequest { forget: Some("web3".into()) }),
        ] {
            let line = request.line();
            assert_eq!(line.matches('\n').count(), 1);
            assert_eq!(AdminRequest::parse(line.as_bytes()), Ok(request));
        }
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        assert_eq!(AdminRequest::parse(b"{\"stats\":{}}"), Ok(AdminRequest::Stats(StatsRequest::default())));
        let all = parse_purge(b"{\"all\":true}").expect("a purge");
        assert!(all.all && !all.soft && all.zone.is_none());
        let pages = AdminRequest::parse(b" {\"pages\" : {\"match\":\"a\"}} \n");
        assert!(matches!(pages, Ok(AdminRequest::Pages(pages)) if pages.matching.as_deref() == Some("a")));
    }

    #[test]
    fn misspelt_or_empty_requests_are_rejected_with_reason() {
        let error = |text: &str| AdminRequest::parse(text.as_bytes()).expect_err(text).to_string();
        assert!(error("{\"stats\":{\"zones\":1}}").contains("unknown field `zones`"));
        assert!(error("{\"purge\":{}}").contains("nothing to purge"));
        assert!(error("{\"purge\":{\"tags\":[\"\"]}}").contains("an empty value purges nothing"));
        assert!(error("{\"page\":{}}").contains("\"page\" must not be empty"));
        assert!(
            error("{\"change-upstream\":{\"group\":\"\",\"state\":\"up\"}}").contains("must not be empty")
        );
        assert!(error("{\"change-upstream\":{\"group\":\"g\"}}").contains("missing field `state`"));
        assert!(
            error("{\"change-upstream\":{\"group\":\"g\",\"state\":\"off\"}}")
                .contains("unknown variant `off`")
        );
        assert!(error("").contains("EOF") && error("[").contains("line 1"));
        assert!(error("{\"stats\":{}} x").contains("trailing"));
        let many = PurgeRequest { tags: vec!["t".into(); MOST_PURGES + 1], ..PurgeRequest::default() };
        assert!(error(&AdminRequest::Purge(many).line()).contains("more than"));
    }

    #[test]
    fn no_depth_and_no_length_harms() {
        let deep = "[".repeat(MOST_REQUEST_BYTES);
        assert!(AdminRequest::parse(deep.as_bytes()).is_err());
        let long = format!("{{\"page\":{{\"page\":\"{}\"}}}}", "x".repeat(MOST_REQUEST_BYTES));
        assert!(AdminRequest::parse(long.as_bytes()).expect_err("long").to_string().contains("longer than"));
    }

    #[test]
    fn mutated_lines_are_read_or_refused() {
        let seeds = [
            AdminRequest::Pages(PagesRequest {
                limit: Some(3),
                host: Some("a".into()),
                ..PagesRequest::default()
            }),
            AdminRequest::Purge(PurgeRequest {
                urls: vec!["u".into()],
                wait: true,
                ..PurgeRequest::default()
            }),
            AdminRequest::ChangeUpstream(change()),
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
            // A parsed request that is serialized and parsed again must be equal.
            if let Ok(request) = AdminRequest::parse(&line) {
                assert_eq!(AdminRequest::parse(request.line().as_bytes()), Ok(request));
            }
        }
    }
}
