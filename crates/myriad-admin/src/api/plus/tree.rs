//! Mapping of API paths to objects.

use myriad_base::digits::decimal;
use myriad_exchange::traffic::{TrafficSnapshot, ZoneKind};
use serde_json::{Map, Value, json};

use super::error::PlusError;
use super::node::{Node, members};
use super::request::PlusRequest;
use super::site::{SiteView, UpstreamBlock};
use super::{baseline, caches, general, peers, servers, tls, zones};

/// Returns the value at the path of a request to NGINX Plus's API. Returns an error if the path does not exist in the
/// requested version, or if its object does not exist.
pub(super) fn read(site: &SiteView, asked: &PlusRequest) -> Result<Node, PlusError> {
    let version = asked.version;
    let path = asked.parts();
    if !exists(&path, version) {
        return Err(PlusError::no_path());
    }
    match path[..] {
        [] => Ok(Node::Directory(roots(version))),
        ["nginx"] => Ok(Node::object(general::nginx(site, &asked.address))),
        ["processes"] => Ok(Node::object(general::processes())),
        ["license"] => Ok(Node::object(general::license(site))),
        ["workers"] => {
            let workers = 0..site.workers().len();
            Ok(Node::List(
                workers
                    .filter_map(|number| counted(site, asked, &["workers", &number.to_string()]))
                    .collect(),
            ))
        }
        ["http"] => Ok(Node::Directory(below_http(version))),
        ["stream"] => Ok(Node::Directory(below_stream(version))),
        ["http" | "stream", "keyvals"] => Ok(Node::Collection(Map::new())),
        ["http" | "stream", "upstreams", ..] => upstreams(site, asked, &path),
        [.., _] if is_collection(&path) => Ok(collection(site, asked, &path)),
        _ => counted(site, asked, &path).map(Node::object).ok_or_else(|| missing(&path)),
    }
}

/// Resets the counts of the object or objects at the request's path. Returns an error if the path does not exist or has
/// no counts.
pub(super) fn reset(site: &SiteView, asked: &PlusRequest) -> Result<(), PlusError> {
    let path = asked.parts();
    if !exists(&path, asked.version) {
        return Err(PlusError::no_path());
    }
    match path[..] {
        ["processes"] => general::reset_processes(),
        ["http", "limit_reqs", name] | ["http" | "stream", "limit_conns", name] => {
            limits(site, &path, name)?.reset();
        }
        ["resolvers", name] => {
            zones::resolver_zones(site).get(name).ok_or_else(|| missing(&path))?.reset();
        }
        ["http", "upstreams", name] => site.group(UpstreamBlock::Http, name)?.reset_counts(),
        ["stream", "upstreams", name] => site.group(UpstreamBlock::Stream, name)?.reset_counts(),
        ["workers"] => {
            for number in 0..site.workers().len() {
                reset_object(site, asked, &["workers", &number.to_string()])?;
            }
        }
        ["connections" | "ssl"]
        | ["http", "requests"]
        | ["workers" | "slabs", _]
        | ["http", "server_zones" | "location_zones" | "caches", _]
        | ["stream", "server_zones", _] => reset_object(site, asked, &path)?,
        ["http" | "stream", "keyvals", _] => return Err(missing(&path)),
        _ => {
            // A missing object is reported as such, whatever the method.
            read(site, asked)?;
            return Err(PlusError::no_method());
        }
    }
    Ok(())
}

fn reset_object(site: &SiteView, asked: &PlusRequest, path: &[&str]) -> Result<(), PlusError> {
    let object = object(site, path, asked.version.max(9)).ok_or_else(|| missing(path))?;
    baseline::set_baseline(path.join("/"), object);
    Ok(())
}

/// Returns false for a path that only later versions of the API have; true for all others, also for unknown paths and
/// objects.
fn exists(path: &[&str], version: u8) -> bool {
    match path {
        ["workers" | "license", ..] => version >= 9,
        ["http" | "stream", "limit_conns", ..] | ["http", "limit_reqs", ..] => version >= 6,
        ["resolvers", ..] | ["http", "location_zones", ..] => version >= 5,
        ["stream", "keyvals", ..] => version >= 2,
        _ => true,
    }
}

fn roots(version: u8) -> Vec<&'static str> {
    let all = [
        "nginx",
        "processes",
        "connections",
        "slabs",
        "http",
        "stream",
        "resolvers",
        "ssl",
        "license",
        "workers",
    ];
    all.into_iter().filter(|name| exists(&[name], version)).collect()
}

fn below_http(version: u8) -> Vec<&'static str> {
    let all = [
        "requests",
        "server_zones",
        "location_zones",
        "caches",
        "limit_conns",
        "limit_reqs",
        "keyvals",
        "upstreams",
    ];
    all.into_iter().filter(|name| exists(&["http", name], version)).collect()
}

fn below_stream(version: u8) -> Vec<&'static str> {
    let all = ["server_zones", "limit_conns", "keyvals", "upstreams"];
    all.into_iter().filter(|name| exists(&["stream", name], version)).collect()
}

fn is_collection(path: &[&str]) -> bool {
    matches!(
        path,
        ["slabs" | "resolvers"]
            | ["http", "server_zones" | "location_zones" | "caches" | "limit_conns" | "limit_reqs"]
            | ["stream", "server_zones" | "limit_conns"]
    )
}

/// Returns the collection of objects at a path, by name.
fn collection(site: &SiteView, asked: &PlusRequest, path: &[&str]) -> Node {
    if let Some(kind) = traffic_kind(path) {
        let base = path.join("/");
        let zones = zones::of_kind(site, kind).map(|sums| {
            let object = zones::traffic(&sums, kind, asked.version);
            let counted = baseline::since(&format!("{base}/{}", sums.name), object);
            (sums.name, Value::Object(counted))
        });
        return Node::Collection(zones.collect());
    }
    let things = names(site, path).into_iter().filter_map(|name| {
        let whole: Vec<&str> = path.iter().copied().chain([&*name]).collect();
        let thing = counted(site, asked, &whole)?;
        Some((name.clone(), thing))
    });
    Node::Collection(things.collect())
}

/// Returns the kind of zones that a path contains: those of servers, locations or `stream` servers; `None` for other
/// paths.
fn traffic_kind(path: &[&str]) -> Option<ZoneKind> {
    match path {
        ["http", "server_zones", ..] => Some(ZoneKind::Server),
        ["http", "location_zones", ..] => Some(ZoneKind::Location),
        ["stream", "server_zones", ..] => Some(ZoneKind::Stream),
        _ => None,
    }
}

/// Returns the sorted names of the objects in the API collection at a path; empty for the collections of
/// [`traffic_kind`].
fn names(site: &SiteView, path: &[&str]) -> Vec<String> {
    let runtime = &site.runtime;
    let of = |zones: &[(Box<str>, _)]| zones.iter().map(|(name, _)| name.to_string()).collect();
    let mut names: Vec<String> = match path {
        ["slabs"] | ["http", "caches"] => runtime.zones.keys().cloned().collect(),
        ["resolvers"] => zones::resolver_zones(site).into_keys().collect(),
        ["http", "limit_reqs"] => of(&runtime.limits.requests),
        ["http", "limit_conns"] => of(&runtime.limits.connections),
        ["stream", "limit_conns"] => of(&runtime.limits.sessions),
        _ => Vec::new(),
    };
    names.sort();
    names
}

/// Returns the API object at a path, with its counts since their last reset; `None` if it does not exist.
fn counted(site: &SiteView, asked: &PlusRequest, path: &[&str]) -> Option<Value> {
    let object = object(site, path, asked.version)?;
    Some(Value::Object(baseline::since(&path.join("/"), object)))
}

/// Returns the API object at a path, with its counts since the start of the process, whether or not they were reset;
/// `None` if it does not exist.
fn object(site: &SiteView, path: &[&str], version: u8) -> Option<Map<String, Value>> {
    let runtime = &site.runtime;
    let sum = || site.workers().into_iter().sum();
    Some(match path {
        ["connections"] => members(general::connections(&sum())),
        ["http", "requests"] => members(general::requests(&sum())),
        ["ssl"] => members(tls::of_clients(&TrafficSnapshot::read(runtime).tls, false, version)),
        ["http", "server_zones" | "location_zones", name] | ["stream", "server_zones", name] => {
            let kind = traffic_kind(path)?;
            let sums = zones::of_kind(site, kind).find(|sums| sums.name == *name)?;
            zones::traffic(&sums, kind, version)
        }
        ["workers", number] => {
            let number: usize = decimal(number)?;
            general::worker(number, site.workers().get(number)?)
        }
        ["slabs", name] => general::slab(runtime.zones.get(*name)?),
        ["http", "caches", name] => caches::cache(runtime.zones.get(*name)?),
        ["http", "limit_reqs", name] => zones::limit_req(limits(site, path, name).ok()?),
        ["http" | "stream", "limit_conns", name] => zones::limit_conn(limits(site, path, name).ok()?),
        ["resolvers", name] => zones::resolver(&zones::resolver_zones(site).get(*name)?.counts()),
        _ => return None,
    })
}

fn limits<'a>(
    site: &'a SiteView,
    path: &[&str],
    name: &str,
) -> Result<&'a myriad_exchange::runtime::LimitCounts, PlusError> {
    let limits = &site.runtime.limits;
    let zones = match path {
        ["http", "limit_reqs", ..] => &limits.requests,
        ["http", ..] => &limits.connections,
        _ => &limits.sessions,
    };
    let found = zones.iter().find(|(known, _)| **known == *name);
    found.map(|(_, counts)| &**counts).ok_or_else(|| missing(path))
}

/// Returns the API error for a missing object, whose code depends on the kind of object.
fn missing(path: &[&str]) -> PlusError {
    let (code, text) = match path {
        ["slabs", _] => ("SlabNotFound", "slab not found"),
        ["resolvers", _] => ("ResolverZoneNotFound", "resolver zone not found"),
        ["workers", _] => ("WorkerNotFound", "worker not found"),
        ["http" | "stream", "server_zones", _] => ("ServerZoneNotFound", "server zone not found"),
        ["http", "location_zones", _] => ("LocationZoneNotFound", "location zone not found"),
        ["http", "caches", _] => ("CacheNotFound", "cache not found"),
        ["http", "limit_reqs", _] => ("LimitReqNotFound", "limit_req not found"),
        ["http" | "stream", "limit_conns", _] => ("LimitConnNotFound", "limit_conn not found"),
        ["http" | "stream", "keyvals", _] => ("KeyvalNotFound", "keyval not found"),
        _ => return PlusError::no_path(),
    };
    PlusError::new(404, code, text)
}

fn upstreams(site: &SiteView, asked: &PlusRequest, path: &[&str]) -> Result<Node, PlusError> {
    let (block, version) = (block(path), asked.version);
    match path[2..] {
        [] => {
            // As in NGINX Plus, the list contains only groups with a `zone`.
            let groups = site.groups(block).into_iter().filter(|group| group.zone().is_some());
            let by_name = groups
                .map(|group| (group.name().to_owned(), Value::Object(peers::group(&group, block, version))));
            Ok(Node::Collection(by_name.collect()))
        }
        [name] => Ok(Node::Object(peers::group(&site.group(block, name)?, block, version))),
        [name, "servers"] => {
            let all = site.group(block, name)?.servers();
            Ok(Node::List(all.iter().map(|one| servers::server(one, block, version).into()).collect()))
        }
        [name, "servers", id] => {
            let group = site.group(block, name)?;
            let id = server_id(id)?;
            let server = group.servers().into_iter().find(|server| server.id == id);
            let server =
                server.ok_or_else(|| servers::edit_error(myriad_upstream::EditError::NotFound(id), name))?;
            Ok(Node::Object(servers::server(&server, block, version)))
        }
        _ => Err(PlusError::no_path()),
    }
}

/// Returns the configuration block (`http` or `stream`) to which an API path belongs.
pub(super) fn block(path: &[&str]) -> UpstreamBlock {
    if path[0] == "http" { UpstreamBlock::Http } else { UpstreamBlock::Stream }
}

/// Parses the ID of an upstream server. Returns an error if it is not a number.
pub(super) fn server_id(text: &str) -> Result<u64, PlusError> {
    decimal(text).ok_or_else(|| PlusError::new(400, "UpstreamBadServerId", "invalid server ID"))
}

/// Returns the list of supported API versions.
pub(super) fn versions() -> Value {
    json!(super::request::VERSIONS.collect::<Vec<_>>())
}
