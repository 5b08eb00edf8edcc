//! Directive `*_cache_path`, which defines cache zones.

use super::{Arguments, Contexts, Directive, FamilyRow, NameKind, Set, SetterResult, at_least};
use crate::{
    diagnostic::Diagnostic,
    model::{CacheZoneConf, HttpConf},
    number::parse_size,
    settings::Protocol,
    text::Text,
};

pub(super) static OF_ORIGINS: &[FamilyRow] = &[
    FamilyRow::new(
        Directive::new("cache_path", Contexts::HTTP, at_least(2), Set::Http(cache_path), "A cache zone.")
            .repeats()
            .differs(
                "pages are also cached in memory, limited by `memory=SIZE`; `max_fetches=` and `fetch_queue=` limit concurrent \
                     fetches; `cluster=off` excludes the zone from the `cluster`; files have the names of nginx and a different format, and are always written next to the cache, as \
                     with `use_temp_path=off`; `loader_files` is 10000 by default; fastcgi_cache and proxy_cache can share a zone",
            ),
    ),
];

/// Names of cache zones, to which directives such as `proxy_cache` refer.
static ZONES: NameKind = NameKind {
    kind: "cache zone",
    defined: |http| http.cache_zones.iter().map(|zone| zone.name.as_str()).collect(),
    example: |name, protocol| {
        let prefix = protocol.map_or("proxy_", Protocol::prefix);
        format!("{prefix}cache_path PATH keys_zone={name}:10m;")
    },
};

/// Records that the directive uses this cache zone, so that it is checked to be defined. Names with variables, which
/// are only known at run time, are not recorded.
pub fn use_cache_zone(args: &mut Arguments<'_>, zone: &Text) {
    if !zone.has_variables() {
        args.use_name(zone.clone(), &ZONES);
    }
}

fn cache_path(http: &mut HttpConf, args: &mut Arguments<'_>) -> SetterResult {
    let mut zone = CacheZoneConf {
        name: String::new(),
        protocol: args.protocol(),
        path: args.text(0)?,
        levels: Vec::new(),
        keys_zone_size: 0,
        memory: None,
        max_size: None,
        min_free: 0,
        inactive: 600_000,
        use_temp_path: true,
        loader_files: 10_000,
        loader_sleep: 50,
        loader_threshold: 200,
        manager_files: 100,
        manager_sleep: 50,
        manager_threshold: 200,
        max_fetches: 256,
        fetch_queue: 1024,
        cluster: true,
        span: args.node.span,
    };
    for index in 1..args.len() {
        option(&mut zone, args, index)?;
    }
    if zone.name.is_empty() {
        let message = format!("\"{}\" must have \"keys_zone\" parameter", args.directive.name);
        return Err(Diagnostic::error(args.node.span, message).help("write `keys_zone=NAME:10m`"));
    }
    if let Some(other) = http.cache_zones.iter().find(|other| other.name == zone.name) {
        let message = format!("duplicate zone \"{}\"", zone.name);
        return Err(Diagnostic::error(args.node.span, message).related(other.span, "first defined here"));
    }
    http.cache_zones.push(zone);
    Ok(())
}

fn option(zone: &mut CacheZoneConf, args: &Arguments<'_>, index: usize) -> SetterResult {
    let word = args.bytes(index);
    let equals = word.iter().position(|&byte| byte == b'=');
    let (name, skip) = equals.map_or((word, word.len()), |at| (&word[..at], at + 1));
    match name {
        b"levels" => zone.levels = levels(&word[skip..]).ok_or_else(|| args.invalid(index, LEVELS))?,
        b"keys_zone" => keys_zone(zone, args, index, &word[skip..])?,
        b"memory" => zone.memory = Some(args.size_after(index, skip)?),
        b"max_size" => zone.max_size = Some(args.size_after(index, skip)?),
        b"min_free" => zone.min_free = args.size_after(index, skip)?,
        b"inactive" => zone.inactive = args.millis_after(index, skip)?,
        b"use_temp_path" => {
            zone.use_temp_path = match &word[skip..] {
                b"on" => true,
                b"off" => false,
                _ => return Err(args.invalid(index, "use_temp_path=on or use_temp_path=off")),
            }
        }
        b"loader_files" => zone.loader_files = args.number_after(index, skip)?,
        b"loader_sleep" => zone.loader_sleep = args.millis_after(index, skip)?,
        b"loader_threshold" => zone.loader_threshold = args.millis_after(index, skip)?,
        b"manager_files" => zone.manager_files = args.number_after(index, skip)?,
        b"manager_sleep" => zone.manager_sleep = args.millis_after(index, skip)?,
        b"manager_threshold" => zone.manager_threshold = args.millis_after(index, skip)?,
        b"max_fetches" => {
            zone.max_fetches = args.small(index, skip)?;
            if zone.max_fetches == 0 {
                return Err(args.invalid(index, "at least 1"));
            }
        }
        b"cluster" => {
            zone.cluster = match &word[skip..] {
                b"on" => true,
                b"off" => false,
                _ => return Err(args.invalid(index, "cluster=on or cluster=off")),
            }
        }
        b"fetch_queue" => zone.fetch_queue = args.small(index, skip)?,
        // Parameters of NGINX Plus, without effect: a purge with `*` applies immediately here, and files of purged
        // pages are always removed.
        b"purger" if !matches!(&word[skip..], b"on" | b"off") => {
            return Err(args.invalid(index, "purger=on or purger=off"));
        }
        b"purger" => {}
        b"purger_files" => drop(args.number_after(index, skip)?),
        b"purger_sleep" | b"purger_threshold" => drop(args.millis_after(index, skip)?),
        _ => return Err(unknown(args, index, &String::from_utf8_lossy(name))),
    }
    Ok(())
}

const LEVELS: &str = "one to three numbers, each 1 or 2, separated by colons, such as levels=1:2";

fn levels(text: &[u8]) -> Option<Vec<u8>> {
    let parts: Option<Vec<u8>> = text
        .split(|&byte| byte == b':')
        .map(|part| match part {
            b"1" => Some(1),
            b"2" => Some(2),
            _ => None,
        })
        .collect();
    parts.filter(|parts| parts.len() <= 3)
}

fn keys_zone(zone: &mut CacheZoneConf, args: &Arguments<'_>, index: usize, text: &[u8]) -> SetterResult {
    let invalid = || {
        let word = String::from_utf8_lossy(args.bytes(index));
        args.error(index, format!("invalid keys zone size \"{word}\"")).help("write `keys_zone=NAME:10m`")
    };
    let text = std::str::from_utf8(text).map_err(|_| invalid())?;
    let (name, size) = text.split_once(':').ok_or_else(invalid)?;
    zone.keys_zone_size = parse_size(size.as_bytes()).map_err(|_| invalid())?;
    // The minimum of nginx: two pages of memory.
    if name.is_empty() || zone.keys_zone_size < 8192 {
        return Err(invalid().help("the name must not be empty and the size must be at least 8k"));
    }
    name.clone_into(&mut zone.name);
    Ok(())
}

fn unknown(args: &Arguments<'_>, index: usize, name: &str) -> Diagnostic {
    let known = [
        "levels",
        "keys_zone",
        "memory",
        "max_size",
        "min_free",
        "inactive",
        "use_temp_path",
        "loader_files",
        "loader_sleep",
        "loader_threshold",
        "manager_files",
        "manager_sleep",
        "manager_threshold",
        "max_fetches",
        "fetch_queue",
        "cluster",
        "purger",
        "purger_files",
        "purger_sleep",
        "purger_threshold",
    ];
    let diagnostic = args.error(index, format!("invalid parameter \"{name}\""));
    match super::nearest(name, known) {
        Some(near) => diagnostic.help(format!("did you mean \"{near}\"?")),
        None => diagnostic.help(format!("the parameters are {}", known.join(", "))),
    }
}
