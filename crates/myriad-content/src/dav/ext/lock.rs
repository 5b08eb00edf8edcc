//! LOCK and UNLOCK (RFC 4918 sections 9.10, 9.11), and the check of locks before a change.

use std::hash::{BuildHasher, RandomState};

use bytes::Bytes;
use myriad_base::digits::decimal;
use myriad_exchange::exchange::{ContentResponse, Exchange, PhaseStep, Request};
use myriad_files::as_path;
use myriad_net::ResponseBody;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use super::directives::LockZone;
use super::locks::{self, Lock, LockDenied};
use super::propfind::{active_lock, escaped_uri};
use super::xml;
use crate::dav::answer::{Depth, blocking, depth};
use crate::dav::body::small_body;
use crate::dav::failure::{DavFailure, DavResult};
use crate::dav::settings::DavAccess;
use crate::dav::target::DavTarget;

/// Extent of a change by a WebDAV request, for which locks must be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::dav) enum ChangeScope {
    /// The resource at the path itself.
    Alone,
    /// The resource at the path and everything below it.
    Below,
}

/// Returns the lock tokens that start with `urn:` in `If` and `Lock-Token` of a request (RFC 4918 sections 10.4, 10.5).
/// All tokens that this server creates start with `urn:`.
fn tokens(request: &Request) -> Vec<&str> {
    let fields = request.received.head.fields();
    let values = fields.get_all(b"if").chain(fields.get_all(b"lock-token"));
    let texts = values.filter_map(|value| std::str::from_utf8(value).ok());
    let words = texts.flat_map(|text| text.split('<').skip(1).filter_map(|word| word.split_once('>')));
    words.map(|(token, _)| token).filter(|token| token.starts_with("urn:")).collect()
}

/// Returns 423 if a locked resource is changed and the request does not contain the token of the lock. Does nothing
/// without a zone.
pub(in crate::dav) fn check_locks(
    request: &Request,
    zone: Option<&LockZone>,
    changes: &[(&[u8], ChangeScope)],
) -> DavResult<()> {
    let Some(zone) = zone else { return Ok(()) };
    let known = tokens(request);
    locks::with_zone(zone.name.bytes(), request.received.at_ms, |locks| {
        for (path, change) in changes {
            let respected = locks.locks_required_by(path, *change == ChangeScope::Below);
            if respected.iter().any(|lock| !known.contains(&&*lock.token)) {
                let path = String::from_utf8_lossy(path);
                return Err(DavFailure::new(423, format!("\"{path}\" is locked")));
            }
        }
        Ok(())
    })
}

/// Removes the locks at and below a path that was deleted or moved. It runs as part of the change, which continues if
/// its client disconnects; after a failed change the locks remain.
pub(in crate::dav) fn forget(zone: Option<&LockZone>, now_ms: u64, path: &[u8]) {
    if let Some(zone) = zone {
        locks::with_zone(zone.name.bytes(), now_ms, |locks| locks.forget(path));
    }
}

/// Returns the lifetime of a lock, in milliseconds: the lifetime configured for the zone, or less if the client
/// requests less (RFC 4918 section 10.7). A request for 0 seconds counts as one second.
fn timeout_ms(request: &Request, zone: &LockZone) -> u64 {
    let asked =
        request.received.head.fields().get(b"timeout").and_then(|value| value.strip_prefix(b"Second-"));
    let asked = asked.and_then(|value| value.split(|byte| *byte == b',').next());
    let asked = asked.and_then(|digits| decimal::<u64>(digits.trim_ascii()));
    asked.map_or(zone.timeout_ms, |seconds| seconds.max(1).saturating_mul(1000).min(zone.timeout_ms))
}

/// LOCK: locks a file or a directory, or renews a lock if the request has no body. If nothing exists at the path, an
/// empty file is created and locked; for a URI with a trailing slash, the response is 409. Returns 423 if another lock
/// applies, or if the parent directory is locked and the request lacks its token; 507 if the zone is full, 412 if the
/// lock to renew does not exist, and 400 for `Depth: 1` or an invalid body.
pub(in crate::dav) fn lock(exchange: &mut Exchange, zone: &LockZone, access: DavAccess) -> PhaseStep {
    let uri = exchange.request.route.uri.clone();
    let depth = match depth(&exchange.request, Depth::Infinity) {
        Ok(Depth::One) => Err(DavFailure::new(400, "\"Depth\" of LOCK must be 0 or infinity")),
        depth => depth,
    };
    let asked = depth.and_then(|depth| Ok((depth == Depth::Infinity, DavTarget::of(exchange, &uri)?)));
    let zone = zone.clone();
    match asked {
        Ok((deep, target)) => PhaseStep::wait(async move |exchange| {
            match acquire_or_renew(exchange, &zone, (deep, target), access).await {
                Ok((status, lock)) => PhaseStep::Answer(lock_response(exchange, status, &lock)),
                Err(failure) => failure.into_step(&mut exchange.request),
            }
        }),
        Err(failure) => failure.into_step(&mut exchange.request),
    }
}

async fn acquire_or_renew(
    exchange: &mut Exchange,
    zone: &LockZone,
    (deep, target): (bool, DavTarget),
    access: DavAccess,
) -> DavResult<(u16, Lock)> {
    let body = small_body(exchange).await?;
    let request = &exchange.request;
    let now_ms = request.received.at_ms;
    let until_ms = now_ms.saturating_add(timeout_ms(request, zone));
    if body.trim_ascii().is_empty() {
        let known = tokens(request);
        let renewed =
            locks::with_zone(zone.name.bytes(), now_ms, |locks| locks.renew(&target.path, &known, until_ms));
        return renewed
            .map(|lock| (200, lock))
            .ok_or_else(|| DavFailure::new(412, "the lock to be refreshed does not exist"));
    }
    let owner =
        xml::lock_info(&body).map_err(|why| DavFailure::new(400, format!("invalid body of LOCK: {why}")))?;
    let root = escaped_uri(&request.route.uri);
    let lock = Lock { token: new_token(), deep, owner, root, until_ms };
    // Creating a file changes its directory, which may be locked.
    let known = tokens(request);
    let (path, size, added) = (target.path.clone(), zone.size, lock.clone());
    locks::with_zone(zone.name.bytes(), now_ms, |locks| {
        let folder_allows =
            locks.locks_required_by(&path, false).iter().all(|lock| known.contains(&&*lock.token));
        let added =
            if folder_allows { locks.add(&path, added, size) } else { Err(LockDenied::AlreadyLocked) };
        added.map_err(|why| match why {
            LockDenied::AlreadyLocked => {
                DavFailure::new(423, format!("\"{}\" is locked", String::from_utf8_lossy(&path)))
            }
            LockDenied::Full => DavFailure::new(507, "the lock zone is full (dav_ext_lock_zone)"),
        })
    })?;
    let made = blocking(move || create_if_missing(&target, access)).await;
    if made.is_err() {
        locks::with_zone(zone.name.bytes(), now_ms, |locks| locks.remove(&path, &lock.token));
    }
    made.map(|made| (if made { 201 } else { 200 }, lock))
}

/// Creates an empty file if nothing exists at the path (RFC 4918 section 7.3), and returns whether it did. Returns
/// 409 if the directory of the path does not exist, or if the URI has a trailing slash and names nothing.
fn create_if_missing(target: &DavTarget, access: DavAccess) -> DavResult<bool> {
    let place = target.open_folder(409)?;
    if place.status()?.is_some() {
        return Ok(false);
    }
    if target.is_collection {
        return Err(DavFailure::new(409, "the directory does not exist and cannot be locked"));
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(&place.folder, as_path(place.name), flags, Mode::from_raw_mode(access.0)) {
        Ok(_) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        Err(error) => Err(DavFailure::from_io_error(&error.into(), 409, "open()", &target.path)),
    }
}

/// Returns a new unpredictable lock token, as a URN with a random UUID (RFC 9562 section 5.4).
fn new_token() -> String {
    let bits = || RandomState::new().hash_one(0_u8);
    let (high, low) = (bits(), bits());
    format!(
        "urn:uuid:{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 48 & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff
    )
}

fn lock_response(exchange: &Exchange, status: u16, lock: &Lock) -> ContentResponse {
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:prop xmlns:D=\"DAV:\"><D:lockdiscovery>",
    );
    active_lock(lock, exchange.request.received.at_ms, &mut text);
    text.push_str("</D:lockdiscovery></D:prop>\n");
    let mut answer = ContentResponse::new(status, ResponseBody::Full(Bytes::from(text)));
    answer.media_type = Some((&b"text/xml; charset=utf-8"[..]).into());
    answer.field(b"Lock-Token", format!("<{}>", lock.token).as_bytes());
    answer
}

/// UNLOCK: removes the lock that applies to the path. Returns 400 if the request contains no token that starts with
/// `urn:`, as tokens of this server do, and 409 if the first such token is not the token of that lock or no lock
/// applies.
pub(in crate::dav) fn unlock(exchange: &mut Exchange, zone: &LockZone) -> PhaseStep {
    let uri = exchange.request.route.uri.clone();
    let target = match DavTarget::of(exchange, &uri) {
        Ok(target) => target,
        Err(failure) => return failure.into_step(&mut exchange.request),
    };
    let request = &exchange.request;
    let known = tokens(request);
    let Some(token) = known.first() else {
        return DavFailure::new(400, "the request contains no lock token of this server")
            .into_step(&mut exchange.request);
    };
    if locks::with_zone(zone.name.bytes(), request.received.at_ms, |locks| locks.remove(&target.path, token))
    {
        PhaseStep::Answer(ContentResponse::new(204, ResponseBody::None))
    } else {
        DavFailure::new(409, "no lock with this token applies to the path").into_step(&mut exchange.request)
    }
}
