//! What the directive says.

use myriad_conf::Text;

/// `origin_query_limit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueryRules {
    /// `rate=`: milliseconds in which one new query may go to the origin.
    pub interval_ms: u64,
    /// `burst=`: new queries at once.
    pub burst: u64,
    /// `per=`.
    pub per: Per,
    /// `keep=`: arguments that stay where others are taken out.
    pub keep: Vec<Box<[u8]>>,
    /// `action=`.
    pub action: Action,
    /// `unless=`: who does not count.
    pub unless: Option<Text>,
}

/// What queries are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Per {
    /// The path of a server.
    Path,
    /// The visitor's network: /24, or /48 of IPv6.
    Network,
    /// The server as a whole.
    Server,
}

/// What a visitor gets beyond the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A redirect to the page without the arguments.
    Strip,
    /// A challenge (`origin_challenge`); whoever has passed it counts alone, and gets 429 beyond the limit.
    Challenge,
    /// An error.
    Status(u16),
}

/// The directive of a level; none with `off`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct QuerySettings(pub Option<QueryRules>);

myriad_conf::feature_settings!(QuerySettings);
