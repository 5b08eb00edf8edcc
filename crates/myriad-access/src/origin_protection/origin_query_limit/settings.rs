//! Settings of `origin_query_limit`.

use myriad_conf::Text;

/// Parameters of `origin_query_limit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueryRules {
    /// `rate=`, as the interval in which one new query is admitted, in milliseconds.
    pub interval_ms: u64,
    /// `burst=`: number of new queries that are admitted at once.
    pub burst: u64,
    /// `wait=`: maximum delay of a request beyond the burst, in milliseconds.
    pub wait_ms: u64,
    /// `per=`: scope in which queries of a client network are counted together.
    pub per: QueryScope,
    /// `keep=`: names of arguments that `action=strip` retains.
    pub keep: Vec<Box<[u8]>>,
    /// `action=`: response to requests beyond the limit.
    pub action: LimitAction,
    /// `unless=`: requests for which this is neither empty nor `0` are not counted; `None` if it is not configured.
    /// With it, requests that bypass the cache are counted as well.
    pub unless: Option<Text>,
}

/// Scope in which the queries of a client network are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryScope {
    /// All queries to a server.
    Network,
    /// The queries for one path of a server.
    Path,
}

/// Response beyond the limit. Requests that bypass the cache are never rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitAction {
    /// Redirect to the URL with only the arguments of `keep=`; 429 if the response may not be stored, or if no argument
    /// would be removed.
    Strip,
    /// Challenge page (`origin_challenge`). A client with a pass is counted by its pass, and receives 429 beyond the
    /// limit.
    Challenge,
    /// Error response with this status.
    Status(u16),
}

/// `origin_query_limit` of a level; `None` for `off`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct QuerySettings(pub Option<QueryRules>);

myriad_conf::feature_settings!(QuerySettings);
