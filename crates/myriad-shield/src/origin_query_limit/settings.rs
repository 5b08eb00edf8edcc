//! The parameters of the directive.

use myriad_conf::Text;

/// `origin_query_limit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueryRules {
    /// `rate=`: milliseconds in which one new query may go to the origin.
    pub interval_ms: u64,
    /// `burst=`: new queries at once.
    pub burst: u64,
    /// `wait=`: longest time that a page waits for its turn, milliseconds.
    pub wait_ms: u64,
    /// `per=`.
    pub per: Per,
    /// `keep=`: arguments that `action=strip` keeps.
    pub keep: Vec<Box<[u8]>>,
    /// `action=`.
    pub action: Action,
    /// `unless=`: requests for which this is neither empty nor `0` are not counted.
    pub unless: Option<Text>,
}

/// What is counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Per {
    /// All queries of a client network to a server.
    Network,
    /// The queries of a client network for one path of a server.
    Path,
}

/// What a client gets beyond the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A redirect to the page without the arguments; 429 where the response is not a page of the cache.
    Strip,
    /// A challenge (`origin_challenge`); a client with a pass is counted by its pass, and gets 429 beyond the limit.
    Challenge,
    /// An error.
    Status(u16),
}

/// The directive of a level; none with `off`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct QuerySettings(pub Option<QueryRules>);

myriad_conf::feature_settings!(QuerySettings);
