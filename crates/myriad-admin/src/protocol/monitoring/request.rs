//! Monitoring requests.

use serde::{Deserialize, Serialize};

/// Request for live events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LiveRequest {
    /// Number of ticks (one per second) after which the response is complete; 0 for no limit.
    pub ticks: u64,
}

/// Request for pages ranked by cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TopsRequest {
    /// Ranking: `requests`, `misses`, `slow` or `bytes`; `None` for `requests`.
    pub by: Option<String>,
    /// Maximum number of pages, 1 to 200; `None` for 20.
    pub limit: Option<u64>,
}

/// Request for the history of traffic figures of the last two weeks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HistoryRequest {
    /// Length of the range in seconds, up to now: 1 to 1,209,600 (two weeks); `None` for an hour.
    pub range: Option<u64>,
    /// Step in seconds: 10, 60 or 600; `None` for the finest that covers the range.
    pub step: Option<u64>,
}

/// Request for the last purges, and for the changes of pages without a purge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PurgesRequest {
    /// Name of the cache zone; `None` for all.
    pub zone: Option<String>,
    /// Maximum number of purges, 1 to 1,000; `None` for 100.
    pub limit: Option<u64>,
}

/// Request for the cache tags of stored pages. All conditions are combined.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TagsRequest {
    /// Name of the cache zone; `None` for all.
    pub zone: Option<String>,
    /// Pattern that the tags must match ([`crate::protocol::GlobPattern`]); `None` for any.
    #[serde(rename = "match")]
    pub matching: Option<String>,
    /// URL of a page, of which only the tags are returned; `None` for all pages.
    pub page: Option<String>,
    /// Maximum number of tags, 1 to 1,000; `None` for 100.
    pub limit: Option<u64>,
}

/// Request for the findings of the leak guard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LeaksRequest {
    /// Name of the cache zone; `None` for all.
    pub zone: Option<String>,
    /// Host and path of the page whose findings are removed, so that it can be stored again; `all` for all pages,
    /// `None` for no page. The response contains the remaining findings; it is an error if the page has none.
    pub forgive: Option<String>,
}

/// Request for the senders of `X-Forwarded-For` that are not trusted proxies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SendersRequest {}
