//! `http` blocks without directives in them (`map`, `geo`, `split_clients`), and `log_format`.

use std::net::IpAddr;

use crate::{span::Span, text::Text};

/// Key of a [`MapEntry`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapKey {
    /// The whole value, compared case-insensitively.
    Exact(Text),
    /// `~regex` or `~*regex`, without the prefix.
    Regex {
        /// The pattern.
        pattern: Text,
        /// True for `~*`.
        caseless: bool,
    },
    /// `*.example.com` or `.example.com`, where `hostnames` is set.
    HostSuffix(Text),
    /// `www.example.*`, where `hostnames` is set.
    HostPrefix(Text),
}

/// Line of a `map`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapEntry {
    /// Value that the source must match.
    pub key: MapKey,
    /// Value of the variable in this case; may contain variables.
    pub value: Text,
}

/// `map source $variable { … }` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapConf {
    /// Value that is looked up; may contain variables.
    pub source: Text,
    /// Variable that the block defines, without `$`.
    pub variable: Text,
    /// `default`; empty if not set.
    pub default: Text,
    /// `hostnames`.
    pub hostnames: bool,
    /// `volatile`: the value is not cached within a request.
    pub volatile: bool,
    /// Exact, host and regex lines, in source order. Regexes are tried last, in order.
    pub entries: Vec<MapEntry>,
    /// The directive.
    pub span: Span,
}

/// Line of a `geo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeoEntry {
    /// First address.
    pub first: IpAddr,
    /// Last address, of the same family.
    pub last: IpAddr,
    /// Value of the variable: plain text without variables. `None` removes an earlier entry (`delete`).
    pub value: Option<Text>,
}

/// `geo [$address] $variable { … }` block. The narrowest entry that contains the address applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeoConf {
    /// Variable with the address, without `$`; `None` for the address of the client.
    pub source: Option<Text>,
    /// Variable that the block defines, without `$`.
    pub variable: Text,
    /// `default`; empty if not set.
    pub default: Text,
    /// `ranges`: entries are written as first-last.
    pub ranges: bool,
    /// `volatile`: the value is not cached within a request.
    pub volatile: bool,
    /// `proxy`: trusted proxies, whose `X-Forwarded-For` is used. Each is an address and the number of significant
    /// leading bits.
    pub proxies: Vec<(IpAddr, u8)>,
    /// `proxy_recursive`.
    pub proxy_recursive: bool,
    /// Entries in source order. A later entry replaces an earlier entry for the same addresses.
    pub entries: Vec<GeoEntry>,
    /// The directive.
    pub span: Span,
}

/// Line of `split_clients`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitShare {
    /// Share in hundredths of a per cent; `None` for `*`, the rest.
    pub share: Option<u32>,
    /// Value of the variable in this case; may contain variables.
    pub value: Text,
}

/// `split_clients source $variable { … }` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitClientsConf {
    /// Value that is hashed; may contain variables.
    pub source: Text,
    /// Variable that the block defines, without `$`.
    pub variable: Text,
    /// Shares in source order; at most 10,000 together.
    pub shares: Vec<SplitShare>,
    /// The directive.
    pub span: Span,
}

/// `log_format … escape=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogEscape {
    /// `default`: `"`, `\`, control characters and bytes above 126 are written as `\xXX`, missing values as `-`.
    #[default]
    Default,
    /// `json`: escapes for JSON strings.
    Json,
    /// `none`: no escapes.
    None,
}

/// `log_format` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFormat {
    /// Name of the format.
    pub name: String,
    /// `escape=`.
    pub escape: LogEscape,
    /// Text of the format: all arguments joined.
    pub format: Text,
}
