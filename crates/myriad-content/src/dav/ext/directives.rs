//! Directives `dav_ext_*`, their parsers and their settings.

use myriad_conf::model::HttpConf;
use myriad_conf::registry::{
    Arguments, Contexts, Directive, NameKind, ONE, Set, SetterResult, at_least, between,
};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text};
use myriad_http::{Method, MethodSet};

const HSL: Contexts = Contexts::HSL;
/// Default of `timeout=` of `dav_ext_lock_zone`: lifetime of a WebDAV lock, in milliseconds.
const TIMEOUT_MS: u64 = 60_000;

/// Settings `dav_ext_methods` and `dav_ext_lock` of a configuration level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::dav) struct ExtSettings {
    pub methods: MethodSet,
    /// `dav_ext_lock`: name of the zone of locks; `None` if not configured.
    pub zone: Option<Text>,
}

myriad_conf::feature_settings!(ExtSettings);

/// Zone of locks, defined by a `dav_ext_lock_zone` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::dav) struct LockZone {
    pub name: Text,
    /// Maximum total size of the locks in the zone, in bytes.
    pub size: u64,
    /// `timeout=`: maximum lifetime of a lock that is not renewed, in milliseconds.
    pub timeout_ms: u64,
}

/// All zones of locks in the configuration (`dav_ext_lock_zone`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::dav) struct LockZones(pub Vec<LockZone>);

myriad_conf::feature_settings!(LockZones);

/// Kind of the names that `dav_ext_lock_zone` defines and `dav_ext_lock` refers to.
static ZONES: NameKind = NameKind {
    kind: "dav_ext_lock_zone",
    defined: |http: &HttpConf| {
        http.settings.feature::<LockZones>().0.iter().filter_map(|zone| zone.name.as_str()).collect()
    },
    example: |name, _| format!("dav_ext_lock_zone zone={name}:1m;"),
};

pub(in crate::dav) static ROWS: &[Directive] = &[
    Directive::new(
        "dav_ext_methods",
        HSL,
        at_least(1),
        Set::Settings(methods),
        "Allows the methods PROPFIND, OPTIONS, LOCK and UNLOCK to list and lock files.",
    )
    .default("off")
    .differs(
        "PROPFIND with `Depth: infinity` is rejected (403), as is a directory of more than 65536 names (507); a client \
             may request a shorter timeout of a lock than that of the zone; deleted and moved files are no longer locked",
    ),
    Directive::new(
        "dav_ext_lock",
        HSL,
        ONE,
        Set::Settings(lock),
        "Zone of the locks that LOCK and UNLOCK require and every change respects: `zone=NAME`.",
    ),
    Directive::new(
        "dav_ext_lock_zone",
        Contexts::HTTP,
        between(1, 2),
        Set::Settings(zone),
        "Defines a zone of locks: `zone=NAME:SIZE`, and the timeout of a lock: `timeout=1m`.",
    )
    .repeats()
    .differs("the locks of a zone survive a reload; if the zone is full, LOCK is answered with 507"),
];

fn methods(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let choices = [
        ("off", MethodSet::default()),
        ("PROPFIND", MethodSet::of(&[Method::Propfind])),
        ("OPTIONS", MethodSet::of(&[Method::Options])),
        ("LOCK", MethodSet::of(&[Method::Lock])),
        ("UNLOCK", MethodSet::of(&[Method::Unlock])),
    ];
    let mut methods = MethodSet::default();
    for index in 0..args.len() {
        methods = methods.union(args.choice(index, &choices)?);
    }
    settings.feature_mut::<ExtSettings>().methods = methods;
    Ok(())
}

fn lock(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let name = match args.bytes(0).strip_prefix(b"zone=") {
        Some(name) if !name.is_empty() => Text::new(name, args.node.args[0].span),
        _ => return Err(args.invalid(0, "zone=NAME")),
    };
    args.use_name(name.clone(), &ZONES);
    settings.feature_mut::<ExtSettings>().zone = Some(name);
    Ok(())
}

fn zone(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let span = args.node.args[0].span;
    let (mut found, mut timeout_ms) = (None, TIMEOUT_MS);
    for index in 0..args.len() {
        let word = args.bytes(index).to_vec();
        if let Some(zone) = word.strip_prefix(b"zone=") {
            let at = zone.iter().position(|byte| *byte == b':').unwrap_or(zone.len());
            let size = zone.get(at + 1..).and_then(|size| myriad_conf::number::parse_size(size).ok());
            match size.filter(|size| at > 0 && *size >= 8192) {
                Some(size) => found = Some((Text::new(&zone[..at], span), size)),
                None => return Err(args.invalid(index, "zone=NAME:SIZE, with a size of at least 8k")),
            }
        } else if let Some(time) = word.strip_prefix(b"timeout=") {
            timeout_ms = myriad_conf::number::parse_millis(time)
                .map_err(|_| args.invalid(index, "a time such as timeout=10m"))?;
        } else {
            return Err(args.invalid(index, "zone=NAME:SIZE or timeout=TIME"));
        }
    }
    let Some((name, size)) = found else { return Err(args.invalid(0, "zone=NAME:SIZE")) };
    let zones = &mut settings.feature_mut::<LockZones>().0;
    if let Some(other) = zones.iter().find(|other| other.name.bytes() == name.bytes()) {
        let message = format!("duplicate zone \"{}\"", name.lossy());
        return Err(Diagnostic::error(span, message).related(other.name.span, "first defined here"));
    }
    zones.push(LockZone { name, size, timeout_ms });
    Ok(())
}
