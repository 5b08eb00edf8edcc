//! `map`, `geo`, `split_clients`: blocks of `http` and `stream` that contain values instead of directives.

use std::net::{IpAddr, Ipv4Addr};

use std::collections::HashSet;

use super::{
    Arguments, Contexts, Directive, Set, SetterResult, block,
    network::{mask, parse_cidr},
};
use crate::{
    diagnostic::Diagnostic,
    model::{GeoConf, GeoEntry, HttpConf, MapConf, MapEntry, MapKey, SplitClientsConf, SplitShare},
    parsed::{Node, Word},
    text::Text,
};

const HTTP: Contexts = Contexts::HTTP.or(Contexts::STREAM);

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "map",
        HTTP,
        block(2, 2),
        Set::Http(map),
        "Defines a variable whose value is mapped from other values.",
    )
    .repeats(),
    Directive::new(
        "geo",
        HTTP,
        block(1, 2),
        Set::Http(geo),
        "Defines a variable whose value depends on the client address.",
    )
    .repeats(),
    Directive::new(
        "split_clients",
        HTTP,
        block(2, 2),
        Set::Http(split_clients),
        "Defines a variable that splits clients into percentage groups.",
    )
    .repeats(),
];

fn lines<'a>(args: &Arguments<'a>) -> &'a [Node] {
    args.node.block.as_deref().unwrap_or_default()
}

/// Returns the value of a line in a `map`, `geo` or similar block. Returns an error unless the line has exactly one
/// value and no block.
fn value_of<'n>(line: &'n Node, block: &str) -> Result<&'n Word, Diagnostic> {
    match line.args.as_slice() {
        [value] if line.block.is_none() => Ok(value),
        _ => Err(Diagnostic::error(line.span, format!("invalid number of the {block} parameters"))
            .help("each line is a key, a value and `;`; quote text that contains spaces")),
    }
}

fn map(http: &mut HttpConf, args: &mut Arguments<'_>) -> SetterResult {
    let mut map = MapConf {
        source: args.text(0)?,
        variable: args.variable(1)?,
        default: Text::default(),
        hostnames: false,
        volatile: false,
        entries: Vec::new(),
        span: args.node.span,
    };
    // `hostnames` applies to all lines, wherever it is in the block.
    for line in lines(args).iter().filter(|line| line.args.is_empty() && line.block.is_none()) {
        match line.name.text.as_slice() {
            b"hostnames" => map.hostnames = true,
            b"volatile" => map.volatile = true,
            _ => return Err(Diagnostic::error(line.span, "invalid number of the map parameters")),
        }
    }
    let mut has_default = false;
    // A set, because maps with a hundred thousand lines are in use.
    let mut seen = HashSet::new();
    for line in lines(args).iter().filter(|line| !line.args.is_empty() || line.block.is_some()) {
        let value = value_of(line, "map")?.to_text();
        if line.name.text == b"default" {
            if std::mem::replace(&mut has_default, true) {
                return Err(Diagnostic::error(line.span, "duplicate default map parameter"));
            }
            map.default = value;
            continue;
        }
        let key = map_key(&line.name, map.hostnames);
        if key.identity().is_some_and(|identity| !seen.insert(identity)) {
            let message = format!("conflicting parameter \"{}\"", String::from_utf8_lossy(&line.name.text));
            return Err(Diagnostic::error(line.name.span, message));
        }
        map.entries.push(MapEntry { key, value });
    }
    http.maps.push(map);
    Ok(())
}

fn map_key(word: &Word, hostnames: bool) -> MapKey {
    let text = |bytes: &[u8]| Text::new(bytes, word.span);
    match word.text.as_slice() {
        [b'~', b'*', pattern @ ..] => MapKey::Regex { pattern: text(pattern), caseless: true },
        [b'~', pattern @ ..] => MapKey::Regex { pattern: text(pattern), caseless: false },
        [b'*', b'.', _, ..] | [b'.', _, ..] if hostnames => MapKey::HostSuffix(text(&word.text)),
        [_, .., b'.', b'*'] if hostnames => MapKey::HostPrefix(text(&word.text)),
        // `\` escapes a key that is a keyword of the map or starts like a regex.
        [b'\\', rest @ ..] => MapKey::Exact(text(rest)),
        plain => MapKey::Exact(text(plain)),
    }
}

impl MapKey {
    /// Returns the kind and the text (in lower case) of a key of a `map`, which together must be unique in the block;
    /// `None` for a regex, which may be repeated.
    fn identity(&self) -> Option<(u8, Vec<u8>)> {
        let (kind, text) = match self {
            Self::Exact(text) => (0, text),
            Self::HostSuffix(text) => (1, text),
            Self::HostPrefix(text) => (2, text),
            Self::Regex { .. } => return None,
        };
        Some((kind, text.value.to_ascii_lowercase()))
    }
}

fn geo(http: &mut HttpConf, args: &mut Arguments<'_>) -> SetterResult {
    let last = args.len() - 1;
    let mut geo = GeoConf {
        source: if last > 0 { Some(args.variable(0)?) } else { None },
        variable: args.variable(last)?,
        default: Text::default(),
        ranges: false,
        volatile: false,
        proxies: Vec::new(),
        proxy_recursive: false,
        entries: Vec::new(),
        span: args.node.span,
    };
    for line in lines(args) {
        geo_line(&mut geo, line)?;
    }
    http.geos.push(geo);
    Ok(())
}

fn geo_line(geo: &mut GeoConf, line: &Node) -> SetterResult {
    if line.args.is_empty() && line.block.is_none() {
        match line.name.text.as_slice() {
            b"ranges" if geo.entries.is_empty() => geo.ranges = true,
            b"ranges" => {
                return Err(Diagnostic::error(
                    line.span,
                    "the \"ranges\" directive must be the first inside \"geo\" block",
                ));
            }
            b"volatile" => geo.volatile = true,
            b"proxy_recursive" => geo.proxy_recursive = true,
            _ => return Err(Diagnostic::error(line.span, "invalid number of the geo parameters")),
        }
        return Ok(());
    }
    let value = value_of(line, "geo")?;
    let key = &line.name;
    match key.text.as_slice() {
        b"default" => geo.default = value.to_text(),
        b"proxy" => {
            let address = parse_cidr(&value.text).ok_or_else(|| {
                let message = format!("invalid network \"{}\"", String::from_utf8_lossy(&value.text));
                Diagnostic::error(value.span, message)
            })?;
            geo.proxies.push(address);
        }
        b"delete" => {
            let (first, last) = range(value, geo.ranges)?;
            geo.entries.push(GeoEntry { first, last, value: None });
        }
        _ => {
            let (first, last) = range(key, geo.ranges)?;
            geo.entries.push(GeoEntry { first, last, value: Some(value.to_text()) });
        }
    }
    Ok(())
}

/// Parses an entry of a `geo` block: a range of addresses if `ranges` is true, otherwise a network. Returns its first
/// and last address, or an error if it is invalid.
fn range(word: &Word, ranges: bool) -> Result<(IpAddr, IpAddr), Diagnostic> {
    let invalid = || {
        let text = String::from_utf8_lossy(&word.text);
        Diagnostic::error(word.span, format!("invalid network \"{text}\""))
    };
    if ranges {
        return ipv4_range(&word.text).ok_or_else(|| {
            invalid().help("with \"ranges\", write 192.0.2.1-192.0.2.9; IPv6 is not supported")
        });
    }
    let (ip, bits) = parse_cidr(&word.text).ok_or_else(invalid)?;
    let first = mask(ip, bits);
    Ok((first, last_of(first, bits)))
}

/// Parses `192.0.2.1-192.0.2.9`; `None` for any other form, or if the last address is below the first. As in nginx,
/// ranges have IPv4 addresses.
fn ipv4_range(text: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let (first, last) = std::str::from_utf8(text).ok()?.split_once('-')?;
    let (first, last): (Ipv4Addr, Ipv4Addr) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some((first.into(), last.into()))
}

fn last_of(first: IpAddr, bits: u8) -> IpAddr {
    match first {
        IpAddr::V4(v4) => IpAddr::V4((u32::from(v4) | u32::MAX.checked_shr(bits.into()).unwrap_or(0)).into()),
        IpAddr::V6(v6) => {
            IpAddr::V6((u128::from(v6) | u128::MAX.checked_shr(bits.into()).unwrap_or(0)).into())
        }
    }
}

fn split_clients(http: &mut HttpConf, args: &mut Arguments<'_>) -> SetterResult {
    let mut shares: Vec<SplitShare> = Vec::new();
    let mut total = 0;
    for line in lines(args) {
        let value = value_of(line, "split_clients")?.to_text();
        let share = match line.name.text.as_slice() {
            b"*" => None,
            text => Some(hundredths(text).ok_or_else(|| {
                let message = format!("invalid percent value \"{}\"", String::from_utf8_lossy(text));
                Diagnostic::error(line.name.span, message).help("write 0.5% or `*` for the rest")
            })?),
        };
        total += share.unwrap_or(0);
        if total > 10_000 {
            return Err(Diagnostic::error(line.span, "percent total is greater than 100%"));
        }
        shares.push(SplitShare { share, value });
    }
    let (source, variable) = (args.text(0)?, args.variable(1)?);
    http.split_clients.push(SplitClientsConf { source, variable, shares, span: args.node.span });
    Ok(())
}

/// Parses a percentage of `split_clients` from 0.01% to 100% with at most two decimal places, in hundredths: `12.5%` is
/// 1250. `None` if it is invalid.
fn hundredths(text: &[u8]) -> Option<u32> {
    let number = std::str::from_utf8(text).ok()?.strip_suffix('%')?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if part.len() > 2 || whole.len() > 3 || number.is_empty() || !digits(whole) || !digits(part) {
        return None;
    }
    let value = format!("{whole}{part:0<2}").parse().ok()?;
    (1..=10_000).contains(&value).then_some(value)
}
