//! Names first, then what they mean: maps, geos, splits, log formats.

use myriad_conf::model::{
    GeoConf, LocationConf, MapConf, MapKey, Matcher, RewriteStep, ServerName, SplitClientsConf,
};
use myriad_conf::settings::Settings;
use myriad_conf::{Span, Text};
use myriad_log::Format;
use myriad_script::{Scope, ScriptError};

use super::{Compile, program};
use myriad_exchange::feature::{TableMaking, TableVariable};

impl Compile<'_> {
    /// Opens the tables of features.
    pub(super) fn tables(&mut self) -> Vec<TableVariable> {
        let log = self.error_log(&self.http.settings.log.error);
        let mut making = TableMaking { http: self.http, folder: self.around.folder, log, errors: Vec::new() };
        let tables = crate::features::tables(&mut making);
        self.errors.append(&mut making.errors);
        tables
    }

    /// Declares every name that the configuration makes, so that order does not matter.
    pub(super) fn declare(&mut self, tables: &[TableVariable]) {
        for map in &self.http.maps {
            let (lines, spans) = map_lines(map);
            let declared = self.scripts.declare_map(&map.variable.lossy(), &lines);
            self.report(map.span, &spans, declared);
        }
        let lazies = self.http.geos.iter().map(|geo| &geo.variable);
        let lazies = lazies.chain(self.http.split_clients.iter().map(|split| &split.variable));
        for variable in lazies.chain(tables.iter().map(|table| &table.variable)) {
            if let Err(error) = self.scripts.declare_lazy(&variable.lossy()) {
                self.fail(variable.span, error);
            }
        }
        for server in &self.http.servers {
            self.declare_steps(&server.rewrite, &server.settings);
            self.declare_auth_request(&server.settings);
            for name in &server.names {
                if let ServerName::Regex(pattern) = name {
                    self.declare_captures(pattern);
                }
            }
            for location in &server.locations {
                self.declare_location(location);
            }
        }
    }

    fn declare_location(&mut self, location: &LocationConf) {
        if matches!(location.matcher, Matcher::Regex { .. }) {
            self.declare_captures(&location.pattern);
        }
        self.declare_steps(&location.rewrite, &location.settings);
        self.declare_auth_request(&location.settings);
        for nested in &location.locations {
            self.declare_location(nested);
        }
    }

    fn declare_captures(&mut self, pattern: &Text) {
        let source = self.utf8(pattern);
        if let Err(error) = self.scripts.declare_captures(source) {
            self.fail(pattern.span, error);
        }
    }

    fn declare_steps(&mut self, steps: &[RewriteStep], settings: &Settings) {
        // What is wrong with functions is told when the program is compiled, too.
        let owned = program::Owned::of(steps, settings, &mut Vec::new());
        if let Err(errors) = self.scripts.declare_program(&owned.sources(&mut Vec::new())) {
            // The same errors come again, with their places, when the program is compiled.
            drop(errors);
        }
    }

    /// Compiles maps, geos, splits, what tables are asked with, and log formats.
    pub(super) fn define(&mut self, tables: Vec<TableVariable>) {
        self.define_lazies();
        self.define_tables(tables);
        self.define_formats();
    }

    fn define_lazies(&mut self) {
        for map in &self.http.maps {
            let (lines, spans) = map_lines(map);
            let source = map.source.lossy();
            let defined = self.scripts.define_map(&map.variable.lossy(), &source, &lines);
            self.report(map.span, &spans, defined);
        }
        for geo in &self.http.geos {
            let lines = geo_lines(geo);
            let source = geo.source.as_ref().map(|source| format!("${}", source.lossy()));
            let defined = self.scripts.define_geo(&geo.variable.lossy(), source.as_deref(), &lines);
            self.report(geo.span, &[], defined);
        }
        for split in &self.http.split_clients {
            let lines = split_lines(split);
            let defined =
                self.scripts.define_split_clients(&split.variable.lossy(), &split.source.lossy(), &lines);
            let spans: Vec<Span> = split.shares.iter().map(|share| share.value.span).collect();
            self.report(split.span, &spans, defined);
        }
    }

    fn define_tables(&mut self, tables: Vec<TableVariable>) {
        for TableVariable { variable, sources, changes, table } in tables {
            let texts: Vec<&str> = sources.iter().map(|source| self.utf8(source)).collect();
            // What changes while it is used is like the clock: nothing that follows from it may be remembered.
            let follows: &[&str] = if changes { &["$msec"] } else { &[] };
            let defined = self.scripts.define_table(&variable.lossy(), &texts, follows, table);
            let spans: Vec<Span> = sources.iter().map(|source| source.span).collect();
            self.report(variable.span, &spans, defined);
        }
    }

    fn define_formats(&mut self) {
        for format in &self.http.log_formats {
            let number = Scope::Shared(self.formats.len() as u32);
            let template = self.in_scope(number, |compile| compile.template(&format.format));
            self.formats.push(Format { name: format.name.clone(), template, escape: format.escape });
        }
    }

    /// Errors of a block at the lines they are of, those of no line at the block's head.
    fn report(&mut self, head: Span, lines: &[Span], defined: Result<(), Vec<ScriptError>>) {
        for error in defined.err().into_iter().flatten() {
            let line = error.item.and_then(|line| lines.get(line)).copied();
            self.fail(line.filter(|line| *line != Span::default()).unwrap_or(head), error);
        }
    }
}

/// The lines of a `map` as the script compiler reads them, and where they stand.
fn map_lines(map: &MapConf) -> (Vec<Vec<String>>, Vec<Span>) {
    let mut lines = vec![vec!["default".to_owned(), map.default.lossy().into_owned()]];
    let mut spans = vec![map.default.span];
    if map.hostnames {
        lines.push(vec!["hostnames".to_owned()]);
    }
    if map.volatile {
        lines.push(vec!["volatile".to_owned()]);
    }
    spans.resize(lines.len(), map.span);
    for entry in &map.entries {
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

/// A backslash keeps an exact value from being read as one of `map`'s own words.
fn escape_word(text: &str) -> String {
    let special = matches!(text, "default" | "include" | "hostnames" | "volatile");
    if special || text.starts_with(['~', '\\']) { format!("\\{text}") } else { text.to_owned() }
}

fn geo_lines(geo: &GeoConf) -> Vec<Vec<String>> {
    let mut lines: Vec<Vec<String>> = Vec::with_capacity(geo.entries.len() + 1);
    let flags =
        [(geo.ranges, "ranges"), (geo.volatile, "volatile"), (geo.proxy_recursive, "proxy_recursive")];
    lines.extend(flags.into_iter().filter(|(on, _)| *on).map(|(_, word)| vec![word.to_owned()]));
    lines.push(vec!["default".to_owned(), geo.default.lossy().into_owned()]);
    lines.extend(geo.proxies.iter().map(|(ip, bits)| vec!["proxy".to_owned(), format!("{ip}/{bits}")]));
    for entry in &geo.entries {
        let key = if geo.ranges || entry.first != entry.last {
            networks(entry.first, entry.last, geo.ranges)
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

/// A stretch of addresses as `geo` writes it: a range, or the network that it came from.
fn networks(first: std::net::IpAddr, last: std::net::IpAddr, ranges: bool) -> Vec<String> {
    if ranges {
        return vec![format!("{first}-{last}")];
    }
    match (first, last) {
        (std::net::IpAddr::V4(a), std::net::IpAddr::V4(b)) => {
            vec![format!("{first}/{}", (u32::from(a) ^ u32::from(b)).leading_zeros())]
        }
        (std::net::IpAddr::V6(a), std::net::IpAddr::V6(b)) => {
            vec![format!("{first}/{}", (u128::from(a) ^ u128::from(b)).leading_zeros())]
        }
        _ => Vec::new(),
    }
}

fn split_lines(split: &SplitClientsConf) -> Vec<Vec<String>> {
    split
        .shares
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
