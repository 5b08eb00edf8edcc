//! PROPFIND: properties of a file, and of the contents of a directory (RFC 4918 section 9.1).

use std::fmt::Write;
use std::os::fd::OwnedFd;

use bytes::Bytes;
use myriad_base::calendar::format_http_date;
use myriad_exchange::exchange::{ContentResponse, Exchange, PhaseStep};
use myriad_files::as_path;
use myriad_http::uri::{EscapeKind, escape as escape_uri};
use myriad_net::ResponseBody;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, openat, statat};

use super::directives::ExtSettings;
use super::locks::{self, Lock, Locks};
use super::xml::{self, PropertyName, RequestedProperties, escape};
use crate::dav::answer::{Depth, blocking, depth};
use crate::dav::body::small_body;
use crate::dav::failure::{DavFailure, DavResult};
use crate::dav::target::DavTarget;

/// Maximum number of entries of a directory that PROPFIND lists; a larger directory results in 507.
const MOST_NAMES: usize = 65_536;

/// Length of a response to PROPFIND, in bytes, above which no further entry is added: the response is then 507. With
/// many properties per entry it could be far longer than the request.
const MOST_BYTES: usize = 32 << 20;

/// Properties that PROPFIND supports, all in the namespace `DAV:`.
const KNOWN: [&str; 7] = [
    "displayname",
    "getcontentlength",
    "getlastmodified",
    "getetag",
    "resourcetype",
    "lockdiscovery",
    "supportedlock",
];

/// File or directory in the response to PROPFIND.
struct ListedResource {
    /// Percent-encoded URI of the resource.
    href: String,
    name: String,
    path: Vec<u8>,
    found: Stat,
}

pub(in crate::dav) fn propfind(exchange: &mut Exchange, ext: &ExtSettings) -> PhaseStep {
    let uri = exchange.request.route.uri.clone();
    let zone = ext.zone.as_ref().map(|zone| zone.bytes().to_vec());
    let depth = match depth(&exchange.request, Depth::Infinity) {
        Ok(Depth::Infinity) => Err(DavFailure::new(403, "PROPFIND with \"Depth: infinity\" is not allowed")),
        depth => depth,
    };
    let asked = depth.and_then(|depth| Ok((depth, DavTarget::of(exchange, &uri)?)));
    match asked {
        Ok((depth, target)) => PhaseStep::wait(async move |exchange| {
            match find_properties(exchange, (uri, target, depth), zone).await {
                Ok(text) => PhaseStep::Answer(multistatus(text)),
                Err(failure) => failure.into_step(&mut exchange.request),
            }
        }),
        Err(failure) => failure.into_step(&mut exchange.request),
    }
}

fn multistatus(text: String) -> ContentResponse {
    let mut answer = ContentResponse::new(207, ResponseBody::Full(Bytes::from(text)));
    answer.media_type = Some((&b"text/xml; charset=utf-8"[..]).into());
    answer
}

async fn find_properties(
    exchange: &mut Exchange,
    (uri, target, depth): (Vec<u8>, DavTarget, Depth),
    zone: Option<Vec<u8>>,
) -> DavResult<String> {
    let body = small_body(exchange).await?;
    let asked = xml::parse_propfind(&body)
        .map_err(|why| DavFailure::new(400, format!("invalid body of PROPFIND: {why}")))?;
    let now_ms = exchange.request.received.at_ms;
    blocking(move || {
        let members = members(&uri, &target, depth)?;
        // The locks are copied, so that the table is not locked while the response is created.
        let around = |zone: &Vec<u8>| locks::with_zone(zone, now_ms, |locks| locks.copy_near(&target.path));
        let locks = zone.as_ref().map(around).unwrap_or_default();
        multistatus_body(&members, &asked, &locks, now_ms)
    })
    .await
}

fn members(uri: &[u8], target: &DavTarget, depth: Depth) -> DavResult<Vec<ListedResource>> {
    let failed = |error: std::io::Error| DavFailure::from_io_error(&error, 404, "stat()", &target.path);
    let place = target.open_folder(404)?;
    let follow = if target.follows_links() { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
    let found = statat(&place.folder, as_path(place.name), follow).map_err(|error| failed(error.into()))?;
    let is_folder = FileType::from_raw_mode(found.st_mode).is_dir();
    let uri = [uri, if is_folder && !uri.ends_with(b"/") { b"/" } else { b"" }].concat();
    let mut members = vec![ListedResource::new(&uri, place.name, target.path.clone(), found)];
    if is_folder && depth == Depth::One {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(&place.folder, as_path(place.name), flags, Mode::empty());
        let folder: OwnedFd = folder.map_err(|error| failed(error.into()))?;
        for entry in Dir::read_from(&folder).map_err(|error| failed(error.into()))? {
            let entry = entry.map_err(|error| failed(error.into()))?;
            let name = entry.file_name().to_bytes();
            // Files that are being written are hidden.
            if matches!(name, b"." | b"..") || name.starts_with(b".myriad-") {
                continue;
            }
            let Ok(found) = statat(&folder, as_path(name), follow) else { continue };
            let kind = FileType::from_raw_mode(found.st_mode);
            if !kind.is_dir() && !kind.is_file() {
                continue;
            }
            if members.len() > MOST_NAMES {
                return Err(DavFailure::new(507, "the directory contains too many names"));
            }
            let uri = [&uri[..], name, if kind.is_dir() { b"/" } else { b"" }].concat();
            members.push(ListedResource::new(&uri, name, [&target.path[..], b"/", name].concat(), found));
        }
    }
    Ok(members)
}

/// Returns a URI with percent-encoding, for elements such as `href`.
pub(super) fn escaped_uri(uri: &[u8]) -> String {
    let mut escaped = Vec::new();
    escape_uri(uri, EscapeKind::Uri, &mut escaped);
    String::from_utf8_lossy(&escaped).into_owned()
}

impl ListedResource {
    fn new(uri: &[u8], name: &[u8], path: Vec<u8>, found: Stat) -> Self {
        Self { href: escaped_uri(uri), name: String::from_utf8_lossy(name).into_owned(), path, found }
    }

    fn is_folder(&self) -> bool {
        FileType::from_raw_mode(self.found.st_mode).is_dir()
    }

    /// Returns whether this file or directory has the property.
    fn has(&self, property: &str) -> bool {
        KNOWN.contains(&property) && !(self.is_folder() && matches!(property, "getcontentlength" | "getetag"))
    }

    fn value(&self, property: &str, locks: &Locks, now_ms: u64, out: &mut String) {
        let modified_s = self.found.st_mtime.max(0) as u64;
        match property {
            "displayname" => escape(&self.name, out),
            "getcontentlength" => out.push_str(&self.found.st_size.to_string()),
            "getlastmodified" => out.push_str(&String::from_utf8_lossy(&format_http_date(modified_s))),
            "getetag" => escape(&format!("\"{modified_s:x}-{:x}\"", self.found.st_size), out),
            "resourcetype" if self.is_folder() => out.push_str("<D:collection/>"),
            "lockdiscovery" => {
                if let Some((_, lock)) = locks.covering_lock(&self.path) {
                    active_lock(lock, now_ms, out);
                }
            }
            "supportedlock" => out.push_str(
                "<D:lockentry><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>",
            ),
            _ => {}
        }
    }
}

/// Appends the `activelock` element of a lock (RFC 4918 section 14.1).
pub(super) fn active_lock(lock: &Lock, now_ms: u64, out: &mut String) {
    let depth = if lock.deep { "infinity" } else { "0" };
    let seconds = lock.until_ms.saturating_sub(now_ms).div_ceil(1000);
    out.push_str(
        "<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope><D:exclusive/></D:lockscope>",
    );
    let _ = write!(out, "<D:depth>{depth}</D:depth><D:owner>");
    escape(&lock.owner, out);
    let _ = write!(
        out,
        "</D:owner><D:timeout>Second-{seconds}</D:timeout><D:locktoken><D:href>{}</D:href>",
        lock.token
    );
    out.push_str("</D:locktoken><D:lockroot><D:href>");
    escape(&lock.root, out);
    out.push_str("</D:href></D:lockroot></D:activelock>");
}

fn multistatus_body(
    members: &[ListedResource],
    asked: &RequestedProperties,
    locks: &Locks,
    now_ms: u64,
) -> DavResult<String> {
    let mut out =
        String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\">\n");
    for member in members {
        if out.len() > MOST_BYTES {
            return Err(DavFailure::new(507, "the response is longer than 32 MB; request fewer properties"));
        }
        out.push_str("<D:response>\n<D:href>");
        escape(&member.href, &mut out);
        out.push_str("</D:href>\n<D:propstat>\n<D:prop>\n");
        let is_had = |name: &&PropertyName| name.space == "DAV:" && member.has(&name.local);
        let names: Vec<&str> = match asked {
            RequestedProperties::All | RequestedProperties::Names => {
                KNOWN.iter().copied().filter(|name| member.has(name)).collect()
            }
            RequestedProperties::Listed(names) => {
                names.iter().filter(is_had).map(|name| &*name.local).collect()
            }
        };
        for name in names {
            let _ = write!(out, "<D:{name}>");
            if *asked != RequestedProperties::Names {
                member.value(name, locks, now_ms, &mut out);
            }
            let _ = writeln!(out, "</D:{name}>");
        }
        out.push_str("</D:prop>\n<D:status>HTTP/1.1 200 OK</D:status>\n</D:propstat>\n");
        if let RequestedProperties::Listed(names) = asked {
            missing(names.iter().filter(|name| !is_had(name)), &mut out);
        }
        out.push_str("</D:response>\n");
    }
    out.push_str("</D:multistatus>\n");
    Ok(out)
}

/// Appends the requested properties that the resource does not have, with status 404.
fn missing<'a>(names: impl Iterator<Item = &'a PropertyName>, out: &mut String) {
    let mut names = names.peekable();
    if names.peek().is_none() {
        return;
    }
    out.push_str("<D:propstat>\n<D:prop>\n");
    for name in names {
        // The name was parsed as an XML name; its namespace may be any text.
        let _ = write!(out, "<{} xmlns=\"", name.local);
        escape(&name.space, out);
        out.push_str("\"/>\n");
    }
    out.push_str("</D:prop>\n<D:status>HTTP/1.1 404 Not Found</D:status>\n</D:propstat>\n");
}
