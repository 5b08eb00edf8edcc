//! Maintenance mode of an application: its response with status 503 is sent immediately for every URL of the host,
//! instead of stale pages.
//!
//! The application reports it by `X-Myriad-State: maintenance`, or a file of `cache_maintenance` exists. Any other 503
//! is a failure, for which stale pages are served (`*_cache_use_stale http_503`).

use std::ffi::OsStr;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::LazyLock;

use myriad_base::bounded::Lru;
use myriad_conf::registry::{Arguments, Contexts, Directive, Set, SetterResult, at_least};
use myriad_conf::settings::Settings;
use myriad_conf::{Text, feature_settings};
use myriad_http::ResponseHead;
use myriad_log::LogLevel;
use myriad_policy::{ApplicationState, PurgeTarget};
use myriad_script::Template;
use parking_lot::Mutex;

use myriad_admin::purge;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::feature::Feature;
use myriad_exchange::runtime::{CachePlace, PlaceFeatures, SettingsCompiler};
use myriad_store::page::PurgeSource;

/// Minimum time in milliseconds between two invalidations of a host, unless a new file of `cache_maintenance` exists.
/// Clients may be able to cause a 503 response.
const PAUSE_MS: u64 = 60_000;
/// Maximum number of hosts for which the time of the last invalidation is stored.
const HOSTS: u64 = 4_096;

/// Sign that an application is in maintenance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The response contains `X-Myriad-State: maintenance`.
    Field,
    /// File of `cache_maintenance`, by its inode and its modification time in seconds and nanoseconds.
    File(u64, i64, i64),
}

/// Cause and time (ms since the epoch) of the last invalidation, by a hash of zone and host.
type Invalidations = Mutex<Lru<u64, (Cause, u64)>>;

/// Last invalidations of all hosts, with the random seed of their hashes.
static INVALIDATED: LazyLock<(RandomState, Invalidations)> =
    LazyLock::new(|| (RandomState::new(), Mutex::new(Lru::new(HOSTS))));

/// Setting of `cache_maintenance`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct MaintenanceSettings {
    /// File names, which may contain variables; empty for `off`.
    files: Vec<Text>,
}

feature_settings!(MaintenanceSettings);

/// Compiled `cache_maintenance` of a location: paths of files that exist while the application is in maintenance.
struct MaintenanceFiles(Vec<Template>);

/// Registration of the directive `cache_maintenance`; listed in `myriad-serve`.
pub const FEATURE: Feature = Feature::new("cache", ROWS).compiled_by(compile);

static ROWS: &[Directive] = &[Directive::new(
    "cache_maintenance",
    Contexts::HSL,
    at_least(1),
    Set::Settings(maintenance),
    "Files that exist while the application is in maintenance. Its 503 response then replaces all pages of the host \
         immediately, as with `X-Myriad-State: maintenance`; without such a file, 503 counts as a failure.",
)
.default("off")
.own()];

fn maintenance(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let mut files = Vec::new();
    for index in 0..args.len() {
        match args.bytes(index) {
            b"off" if args.len() == 1 => {}
            b"off" => return Err(args.invalid(index, "the only argument: \"off\" excludes every file")),
            _ => files.push(args.text(index)?),
        }
    }
    settings.feature_mut::<MaintenanceSettings>().files = files;
    Ok(())
}

fn compile(compiler: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    let files = &settings.feature::<MaintenanceSettings>().files;
    if !files.is_empty() {
        features.insert(MaintenanceFiles(files.iter().map(|file| compiler.origin_template(file)).collect()));
    }
}

/// Returns the sign that the application is in maintenance; `None` unless the response has status 503 and such a sign
/// exists.
pub(crate) fn closed(exchange: &mut Exchange, head: &ResponseHead) -> Option<Cause> {
    if head.status != 503 {
        return None;
    }
    if ApplicationState::of(&head.fields).maintenance { Some(Cause::Field) } else { file(exchange) }
}

/// Returns the first file of `cache_maintenance` that exists; `None` if there is none. A path that cannot be evaluated
/// is logged and skipped.
fn file(exchange: &mut Exchange) -> Option<Cause> {
    let Exchange { request, frame } = exchange;
    let MaintenanceFiles(files) = request.place().features.get()?;
    files.iter().find_map(|file| {
        let mut path = Vec::new();
        if let Err(error) = file.eval(request, frame, &mut path) {
            request.log(LogLevel::Error, format_args!("{error}"));
            return None;
        }
        // `open_file_cache` is not used: it may report for a while that a new file does not exist.
        let found = Path::new(OsStr::from_bytes(&path)).symlink_metadata().ok()?;
        Some(Cause::File(found.ino(), found.mtime(), found.mtime_nsec()))
    })
}

/// Invalidates all stored pages of the request's host in the zone, so that each page is fetched before it is served
/// again. At most once a minute, except for a new file of `cache_maintenance`. The invalidation, or its failure, is
/// logged.
pub(crate) async fn invalidate(request: &Request, cache: &CachePlace, cause: Cause) {
    let host = &request.route.host;
    let now = myriad_net::clock::now_ms();
    if !is_due((cache.zone.zone.name(), host), cause, now) {
        return;
    }
    let what = PurgeTarget::Host(host.as_slice().into());
    let result = match purge::begin_invalidation(&cache.zone, &what, PurgeSource::Origin) {
        Ok(begun) => begun.finish().await,
        Err(error) => Err(error),
    };
    match result {
        Ok(_) => {
            let what = "the application is in maintenance: all pages of the host are invalidated";
            request.log(LogLevel::Notice, format_args!("{what}"));
        }
        Err(error) => {
            let what = format_args!("could not invalidate pages for maintenance: {error}");
            request.log(LogLevel::Error, what);
        }
    }
}

/// Returns whether a host (with its zone) must be invalidated now, and records the invalidation: at most one in
/// [`PAUSE_MS`], except that a new file always causes one, because clients cannot create it.
fn is_due(host: (&str, &[u8]), cause: Cause, now: u64) -> bool {
    let host = INVALIDATED.0.hash_one(host);
    let mut invalidated = INVALIDATED.1.lock();
    let last = invalidated.get(&host).copied();
    let is_new = |last: Cause| cause != Cause::Field && cause != last;
    if last.is_some_and(|(last, at)| !is_new(last) && now < at + PAUSE_MS) {
        return false;
    }
    invalidated.insert(host, (cause, now), 1);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_is_invalidated_once_a_minute() {
        let due = |host: &str, now| is_due(("zone", host.as_bytes()), Cause::Field, now);
        assert!(due("a.test", 0) && !due("a.test", PAUSE_MS - 1) && due("b.test", 1));
        assert!(due("a.test", PAUSE_MS) && !due("a.test", PAUSE_MS + 1));
        assert!(is_due(("other", b"a.test"), Cause::Field, PAUSE_MS + 1));
    }

    #[test]
    fn new_file_invalidates_a_host_at_once() {
        let due = |cause, now| is_due(("zone", b"file.test"), cause, now);
        let (first, second) = (Cause::File(1, 2, 3), Cause::File(1, 3, 0));
        assert!(due(Cause::Field, 0) && due(first, 1) && !due(first, 2) && due(second, 3));
        assert!(!due(Cause::Field, 4) && !due(second, PAUSE_MS) && due(second, PAUSE_MS + 3));
    }
}
