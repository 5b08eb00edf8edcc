//! Converts `map`, `geo` and `split_clients` blocks to lines of words, the input of the compilers in `myriad-script`.

use std::net::IpAddr;

use super::{GeoConf, MapConf, MapKey, SplitClientsConf};
use crate::span::Span;

impl MapConf {
    /// Returns the lines of the `map` block, each as words, and the position of each line.
    pub fn lines(&self) -> (Vec<Vec<String>>, Vec<Span>) {
        let mut lines = vec![vec!["default".to_owned(), self.default.lossy().into_owned()]];
        let mut spans = vec![self.default.span];
        if self.hostnames {
            lines.push(vec!["hostnames".to_owned()]);
        }
        if self.volatile {
            lines.push(vec!["volatile".to_owned()]);
        }
        spans.resize(lines.len(), self.span);
        for entry in &self.entries {
            let key = match &entry.key {
                MapKey::Exact(text) => escape_word(&text.lossy()),
                MapKey::Regex { pattern, caseless: true } => format!("~*{}", pattern.lossy()),
                MapKey::Regex { pattern, caseless: false } => format!("~{}", pattern.lossy()),
                MapKey::HostSuffix(text) | MapKey::HostPrefix(text) => text.lossy().into_owned(),
            };
            lines.push(vec![key, entry.value.lossy().into_owned()]);
            let (MapKey::Exact(key)
            | MapKey::Regex { pattern: key, .. }
            | MapKey::HostSuffix(key)
            | MapKey::HostPrefix(key)) = &entry.key;
            spans.push(key.span.to(entry.value.span));
        }
        (lines, spans)
    }
}

/// Adds a backslash to an exact key that is a keyword of `map`, or starts like a regex or an escaped key.
fn escape_word(text: &str) -> String {
    let special = matches!(text, "default" | "include" | "hostnames" | "volatile");
    if special || text.starts_with(['~', '\\']) { format!("\\{text}") } else { text.to_owned() }
}

impl GeoConf {
    /// Returns the lines of the `geo` block, each as words.
    pub fn lines(&self) -> Vec<Vec<String>> {
        let mut lines: Vec<Vec<String>> = Vec::with_capacity(self.entries.len() + 1);
        let flags =
            [(self.ranges, "ranges"), (self.volatile, "volatile"), (self.proxy_recursive, "proxy_recursive")];
        lines.extend(flags.into_iter().filter(|(on, _)| *on).map(|(_, word)| vec![word.to_owned()]));
        lines.push(vec!["default".to_owned(), self.default.lossy().into_owned()]);
        lines.extend(self.proxies.iter().map(|(ip, bits)| vec!["proxy".to_owned(), format!("{ip}/{bits}")]));
        for entry in &self.entries {
            let key = if self.ranges || entry.first != entry.last {
                networks(entry.first, entry.last, self.ranges)
            } else {
                vec![entry.first.to_string()]
            };
            lines.extend(key.into_iter().map(|key| match &entry.value {
                Some(value) => vec![key, value.lossy().into_owned()],
                None => vec!["delete".to_owned(), key],
            }));
        }
        lines
    }
}

/// Returns an address range in the notation of `geo`: `first-last` with `ranges`, otherwise the network.
fn networks(first: IpAddr, last: IpAddr, ranges: bool) -> Vec<String> {
    if ranges {
        return vec![format!("{first}-{last}")];
    }
    match (first, last) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            vec![format!("{first}/{}", (u32::from(a) ^ u32::from(b)).leading_zeros())]
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            vec![format!("{first}/{}", (u128::from(a) ^ u128::from(b)).leading_zeros())]
        }
        _ => Vec::new(),
    }
}

impl SplitClientsConf {
    /// Returns the lines of the `split_clients` block, each as words.
    pub fn lines(&self) -> Vec<Vec<String>> {
        self.shares
            .iter()
            .map(|share| {
                let share_word = match share.share {
                    Some(hundredths) => format!("{}.{:02}%", hundredths / 100, hundredths % 100),
                    None => "*".to_owned(),
                };
                vec![share_word, share.value.lossy().into_owned()]
            })
            .collect()
    }
}
