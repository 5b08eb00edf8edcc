//! What is asked.

use serde::{Deserialize, Serialize};

/// Ticks, as they happen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LiveRequest {
    /// How many ticks are told; 0: until the reader closes, or the configuration is another one.
    pub ticks: u64,
}

/// Pages by what they cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TopsRequest {
    /// `requests`, `misses`, `slow` or `bytes`; `requests` where nothing is said.
    pub by: Option<String>,
    /// Most pages, 1 to 200; 20 where nothing is said.
    pub limit: Option<u64>,
}

/// Figures of the last two weeks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HistoryRequest {
    /// Seconds back from now; an hour where nothing is said.
    pub range: Option<u64>,
    /// Seconds of a step: 10, 60 or 600; the finest that is kept for as long where nothing is said.
    pub step: Option<u64>,
}

/// The last purges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PurgesRequest {
    /// One zone; all where it is not named.
    pub zone: Option<String>,
    /// Most purges, 1 to 1,000; 100 where nothing is said.
    pub limit: Option<u64>,
}

/// The tags of stored pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TagsRequest {
    /// One zone; all where it is not named.
    pub zone: Option<String>,
    /// Tags that this fits ([`crate::Pattern`]).
    #[serde(rename = "match")]
    pub matching: Option<String>,
    /// Tags of the pages of this URL alone.
    pub page: Option<String>,
    /// Most tags, 1 to 1,000; 100 where nothing is said.
    pub limit: Option<u64>,
}

/// Senders with `X-Forwarded-For` that are not trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SendersRequest {}
