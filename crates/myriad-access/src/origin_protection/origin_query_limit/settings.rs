//! Settings of the directive.

use myriad_conf::Text;

/// Settings of `origin_query_limit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueryRules {
    /// `rate=`: interval in which one new query may be sent to the origin, in milliseconds.
    pub interval_ms: u64,
    /// `burst=`: number of new queries at once.
    pub burst: u64,
    /// `wait=`: maximum delay of a page, in milliseconds.
    pub wait_ms: u64,
    /// `per=`.
    pub per: QueryScope,
    /// `keep=`: arguments that `action=strip` retains.
    pub keep: Vec<Box<[u8]>>,
    /// `action=`.
    pub action: LimitAction,
    /// `unless=`: requests for which this is neither empty nor `0` are not counted.
    pub unless: Option<Text>,
}

/// Scope of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryScope {
    /// All queries of a client network to a server.
    Network,
    /// The queries of a client network for one path of a server.
    Path,
}

/// Response to a client beyond the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitAction {
    /// Redirect to the page without the arguments; 429 if the response is not a cacheable page.
    Strip,
    /// Challenge (`origin_challenge`). A client with a pass is counted by its pass, and receives 429 beyond the limit.
    Challenge,
    /// Error status.
    Status(u16),
}

/// Directive of a level; `None` with `off`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct QuerySettings(pub Option<QueryRules>);

myriad_conf::feature_settings!(QuerySettings);
