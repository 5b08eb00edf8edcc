//! Blocks of `http` with content of their own: `map`, `geo`, `split_clients`, and `log_format`.

use std::net::IpAddr;

use crate::{span::Span, text::Text};

/// What a [`MapEntry`] compares with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapKey {
    /// The whole value, compared without regard to case.
    Exact(Text),
    /// `~regex` or `~*regex`, without the mark.
    Regex {
        /// The pattern.
        pattern: Text,
        /// `~*`.
        caseless: bool,
    },
    /// `*.example.com` or `.example.com`, where `hostnames` is set.
    HostSuffix(Text),
    /// `www.example.*`, where `hostnames` is set.
    HostPrefix(Text),
}

/// One line of a `map`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapEntry {
    /// What the source must be.
    pub key: MapKey,
    /// What the variable then is; may hold variables.
    pub value: Text,
}

/// A `map source $variable { … }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapConf {
    /// What is looked up; may hold variables.
    pub source: Text,
    /// The variable it makes, without its `$`.
    pub variable: Text,
    /// `default`; empty where not written.
    pub default: Text,
    /// `hostnames`.
    pub hostnames: bool,
    /// `volatile`: not remembered within a request.
    pub volatile: bool,
    /// Exact, host and regex lines, in source order; regexes are tried last, in order.
    pub entries: Vec<MapEntry>,
    /// The directive.
    pub span: Span,
}

/// One line of a `geo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeoEntry {
    /// First address.
    pub first: IpAddr,
    /// Last address, of the same family.
    pub last: IpAddr,
    /// What the variable then is: plain text, no variables. None takes an earlier entry back (`delete`).
    pub value: Option<Text>,
}

/// A `geo [$address] $variable { … }`; the narrowest entry that holds the address decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeoConf {
    /// The variable with the address, without its `$`; `None` for the client's.
    pub source: Option<Text>,
    /// The variable it makes, without its `$`.
    pub variable: Text,
    /// `default`; empty where not written.
    pub default: Text,
    /// `ranges`: entries were written as first-last.
    pub ranges: bool,
    /// `volatile`: not remembered within a request.
    pub volatile: bool,
    /// `proxy`: whose `X-Forwarded-For` is believed; an address and the number of leading bits that count.
    pub proxies: Vec<(IpAddr, u8)>,
    /// `proxy_recursive`.
    pub proxy_recursive: bool,
    /// The lines, in source order; a later one takes the place of an earlier one for the same addresses.
    pub entries: Vec<GeoEntry>,
    /// The directive.
    pub span: Span,
}

/// One line of `split_clients`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitShare {
    /// Hundredths of a per cent; `None` for `*`, the rest.
    pub share: Option<u32>,
    /// What the variable then is; may hold variables.
    pub value: Text,
}

/// A `split_clients source $variable { … }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitClientsConf {
    /// What is hashed; may hold variables.
    pub source: Text,
    /// The variable it makes, without its `$`.
    pub variable: Text,
    /// The shares, in source order; together at most 10,000.
    pub shares: Vec<SplitShare>,
    /// The directive.
    pub span: Span,
}

/// `log_format … escape=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogEscape {
    /// `default`: `"`, `\`, controls and bytes above 126 as `\xXX`, what does not exist as `-`.
    #[default]
    Default,
    /// `json`: what JSON strings need.
    Json,
    /// `none`.
    None,
}

/// A `log_format`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFormat {
    /// Its name.
    pub name: String,
    /// `escape=`.
    pub escape: LogEscape,
    /// The text, all arguments joined.
    pub format: Text,
}
