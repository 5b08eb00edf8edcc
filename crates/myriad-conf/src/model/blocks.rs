//! Blocks of `http` and `stream` that contain values instead of directives (`map`, `geo`, `split_clients`), and
//! `log_format`.

use std::net::IpAddr;

use crate::{span::Span, text::Text};

/// Key of a [`MapEntry`], compared with the source value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapKey {
    /// The whole source value, compared case-insensitively.
    Exact(Text),
    /// `~regex` or `~*regex`, without the prefix: a regex that the source value must match.
    Regex {
        /// Pattern of the regex.
        pattern: Text,
        /// True for `~*`: the regex ignores case.
        caseless: bool,
    },
    /// `*.example.com` or `.example.com`: suffix of a host name, if `hostnames` is set.
    HostSuffix(Text),
    /// `www.example.*`: prefix of a host name, if `hostnames` is set.
    HostPrefix(Text),
}

/// Line of a `map` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapEntry {
    /// Key that must match the source value.
    pub key: MapKey,
    /// Value of the map's variable if the key matches; may contain variables.
    pub value: Text,
}

/// `map source $variable { … }` block: a variable whose value depends on another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapConf {
    /// Value that is looked up; may contain variables.
    pub source: Text,
    /// Variable that the block defines, without `$`.
    pub variable: Text,
    /// `default`: value of the variable if no key matches; empty if not set.
    pub default: Text,
    /// `hostnames`: true if keys may be host names with a wildcard.
    pub hostnames: bool,
    /// `volatile`: true if the value is not cached within a request.
    pub volatile: bool,
    /// Entries in source order, without `default`. Regexes are tried after all other keys, in order.
    pub entries: Vec<MapEntry>,
    /// Position of the directive.
    pub span: Span,
}

/// Line of a `geo` block: an address range and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeoEntry {
    /// First address of the range.
    pub first: IpAddr,
    /// Last address of the range, of the same family.
    pub last: IpAddr,
    /// Value of the variable for the range, as plain text. `None` removes an earlier entry (`delete`).
    pub value: Option<Text>,
}

/// `geo [$address] $variable { … }` block. Of the networks that contain the address, the smallest applies; of ranges,
/// the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeoConf {
    /// Variable that contains the address, without `$`; `None` for the address of the client.
    pub source: Option<Text>,
    /// Variable that the block defines, without `$`.
    pub variable: Text,
    /// `default`: value of the variable if no entry contains the address; empty if not set.
    pub default: Text,
    /// `ranges`: true if entries are written as `first-last` instead of networks.
    pub ranges: bool,
    /// `volatile`: true if the value is not cached within a request.
    pub volatile: bool,
    /// `proxy`: networks of trusted proxies, whose `X-Forwarded-For` is used: address and prefix length.
    pub proxies: Vec<(IpAddr, u8)>,
    /// `proxy_recursive`: true if the last address of `X-Forwarded-For` that is not a trusted proxy is used.
    pub proxy_recursive: bool,
    /// Entries in source order. A later entry replaces an earlier entry for the same addresses.
    pub entries: Vec<GeoEntry>,
    /// Position of the directive.
    pub span: Span,
}

/// Line of a `split_clients` block: a share of the hashed values, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitShare {
    /// Share in hundredths of a percent (1250 is 12.5%); `None` for `*`, the remaining share.
    pub share: Option<u32>,
    /// Value of the variable for this share, as plain text.
    pub value: Text,
}

/// `split_clients source $variable { … }` block: a variable whose value is selected by a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitClientsConf {
    /// Value that is hashed; may contain variables.
    pub source: Text,
    /// Variable that the block defines, without `$`.
    pub variable: Text,
    /// Shares in source order; their sum is at most 10,000 (100%).
    pub shares: Vec<SplitShare>,
    /// Position of the directive.
    pub span: Span,
}

/// `log_format … escape=`: characters that are escaped in values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogEscape {
    /// `default`: `"`, `\`, control characters and bytes above 126 are written as `\xXX`, a missing value as `-`.
    #[default]
    Default,
    /// `json`: values are escaped for JSON strings.
    Json,
    /// `none`: values are not escaped.
    None,
}

/// `log_format` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFormat {
    /// Name of the log format.
    pub name: String,
    /// `escape=`: escaping of values.
    pub escape: LogEscape,
    /// Text of the format: all arguments joined.
    pub format: Text,
}
