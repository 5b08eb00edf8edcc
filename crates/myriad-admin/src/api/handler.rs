//! Request handler of the API: parsing, access control and response.

use std::future::poll_fn;
use std::pin::Pin;

use crate::protocol::monitoring::{HistoryRequest, LeaksRequest, PurgesRequest, TagsRequest, TopsRequest};
use crate::protocol::{
    AdminReply, AdminRequest as Asked, ClusterRequest, MOST_REQUEST_BYTES, MemoryRequest, PageRequest,
    PagesRequest, StatsRequest, UpstreamsRequest, parse_purge, parse_upstream_change,
};
use myriad_http::body::Body as _;
use myriad_http::{Known, Method};
use myriad_log::LogLevel;
use myriad_net::RequestBody;

use super::admission::{ClientRights, RequestCount, RequestPermit, admit, explained_answer};
use super::answer::{self, ApiRejection, unknown_host};
use super::arguments::Arguments;
use super::call::ApiCall;
use super::inspect;
use super::plus;
use super::scope::ApiScope;
use super::unfinished_writes;
use crate::admin::Administrator;
use crate::monitoring;
use crate::purge::foreign_page;
use crate::purge::own_host;
use myriad_exchange::exchange::PhaseStep;
use myriad_exchange::exchange::{Exchange, Handler, Request};

/// Paths of Myriad's API below the location, each described in `openapi.json`.
const PATHS: [&str; 16] = [
    "cache",
    "cache/pages",
    "cache/page",
    "cluster",
    "history",
    "inspect",
    "leaks",
    "live",
    "memory",
    "purge",
    "purges",
    "reasons",
    "tags",
    "tops",
    "upstreams",
    "writes",
];
/// Error for a change by a client that no secret, password or `auth_request` has authenticated.
const NO_SECRET: &str = "changes require a secret: add secret_sha256=HASH to \"api write=on\", where HASH is the output of \"printf %s \
     SECRET | sha256sum\", or require a password in the location (auth_basic, auth_request)";
/// Default and maximum value of `limit` of `cache/pages`.
const PAGES: (u64, u64) = (100, 1000);

/// Description of the API in OpenAPI 3.0.
const OPENAPI: &str = include_str!("openapi.json");

/// Content handler of the directive `api`.
#[derive(Clone, Debug)]
pub(crate) struct ApiHandler {
    /// `write=on`: true if changes are permitted.
    write: bool,
    /// Required secret and permitted cache zone of the API.
    scope: ApiScope,
    /// Prefix of the location, which precedes the paths of the API.
    pub(crate) prefix: Box<[u8]>,
    /// Number of requests `POST …/writes` in progress.
    writers: RequestCount,
}

impl ApiHandler {
    /// Creates the handler of a location. `prefix` is the prefix of the location.
    pub(crate) fn new(write: bool, scope: ApiScope, prefix: Box<[u8]>) -> Self {
        Self { write, scope, prefix, writers: RequestCount::default() }
    }
}

impl Handler for ApiHandler {
    fn begin(&self, exchange: &mut Exchange) -> PhaseStep {
        begin(exchange, self)
    }
}

/// Checks access to the API. Returns the response to a request, or a step that waits for the response.
fn begin(exchange: &mut Exchange, rules: &ApiHandler) -> PhaseStep {
    let request = &exchange.request;
    if request.received.sink.is_some() {
        return explained_answer(request, "api", "response of the API");
    }
    let admitted = match admit(request, "api", &rules.scope) {
        Ok(admitted) => admitted,
        Err(refusal) => return refusal,
    };
    let path = path_of(request, rules);
    if path.is_empty() {
        return versions(request, rules);
    }
    if path == b"openapi.json" && matches!(request.received.head.method(), Method::Get | Method::Head) {
        return answer::json_answer(200, OPENAPI.to_owned());
    }
    if plus::is_version(path) {
        return match plus_call(request, rules, path, &admitted) {
            Ok(call) => wait_for(call, rules, &admitted),
            Err(error) => plus::rejection(request, &error, plus::version_of(path)),
        };
    }
    match call(request, rules, &admitted) {
        Ok(ApiCall::Reasons) => answer::reasons_answer(),
        Ok(ApiCall::Live) => live(request, rules, &admitted),
        Ok(call) => wait_for(call, rules, &admitted),
        Err(refusal) => refusal.answer(),
    }
}

fn wait_for(call: ApiCall, rules: &ApiHandler, admitted: &ClientRights) -> PhaseStep {
    let (scope, proven) = (rules.scope.clone(), admitted.is_authenticated);
    PhaseStep::wait(async move |exchange| execute_call(exchange, call, scope, proven).await)
}

/// Returns the part of the URI after the location's prefix and a slash.
fn path_of<'a>(request: &'a Request, rules: &ApiHandler) -> &'a [u8] {
    let path = request.route.uri.strip_prefix(&*rules.prefix).unwrap_or(&request.route.uri);
    path.strip_prefix(b"/").unwrap_or(path)
}

/// Returns the supported versions of NGINX Plus's API, which its clients request first. The status is 405 for methods
/// other than GET and HEAD, and 403 if this API is restricted to one zone.
fn versions(request: &Request, rules: &ApiHandler) -> PhaseStep {
    if !matches!(request.received.head.method(), Method::Get | Method::Head) {
        return ApiRejection::method("GET, HEAD").answer();
    }
    match &rules.scope.zone {
        Some(zone) => {
            ApiRejection::new(403, &format!("this API is restricted to the zone \"{zone}\"")).answer()
        }
        None => plus::versions(),
    }
}

/// Parses a call of NGINX Plus's API. Returns an error if the path is invalid, the client may not make the change, or
/// this API is restricted to one zone.
fn plus_call(
    request: &Request,
    rules: &ApiHandler,
    path: &[u8],
    admitted: &ClientRights,
) -> Result<ApiCall, plus::PlusError> {
    if let Some(zone) = &rules.scope.zone {
        let why = format!("this API is restricted to the zone \"{zone}\"");
        return Err(plus::PlusError::new(403, "Forbidden", why));
    }
    let local = request.received.connection.local();
    let address = local.map(|local| local.ip().to_canonical().to_string()).unwrap_or_default();
    let method = request.received.head.method();
    let asked = plus::PlusRequest::parse(path, &request.route.args, method, address)?;
    if asked.reads() {
        return Ok(ApiCall::Plus(asked));
    }
    if !rules.write {
        return Err(plus::PlusError::disabled());
    }
    may_change(request, admitted)
        .and_then(|()| if method == Method::Post { is_json(request) } else { Ok(()) })
        .map_err(|refusal| {
            let (status, why) = refusal.reason();
            let code = if status == 415 { "JsonError" } else { "Forbidden" };
            plus::PlusError::new(status, code, why.to_owned())
        })?;
    Ok(ApiCall::Plus(asked))
}

fn call(request: &Request, rules: &ApiHandler, admitted: &ClientRights) -> Result<ApiCall, ApiRejection> {
    let path = path_of(request, rules);
    let read = matches!(request.received.head.method(), Method::Get | Method::Head);
    let path = path.strip_suffix(b"/").unwrap_or(path);
    if !PATHS.iter().any(|known| known.as_bytes() == path) {
        return Err(ApiRejection::new(404, &format!("unknown path; valid paths: {}", PATHS.join(", "))));
    }
    match path {
        b"purge" if request.received.head.method() == Method::Post => {
            may_write(request, rules, admitted).map(|()| ApiCall::Purge)
        }
        b"writes" if request.received.head.method() == Method::Post => {
            may_write(request, rules, admitted)?;
            let (tag, permit) = unfinished_writes::admit_writer(&request.route.args, &rules.writers)?;
            Ok(ApiCall::Writes(tag, permit))
        }
        b"purge" | b"writes" => Err(ApiRejection::method("POST")),
        b"upstreams" if request.received.head.method() == Method::Post => {
            may_write(request, rules, admitted).map(|()| ApiCall::ChangeUpstream)
        }
        b"upstreams" if !read => Err(ApiRejection::method("GET, HEAD, POST")),
        b"upstreams" => known(request, &["group", "server"], |arguments| {
            let (group, server) = (arguments.take("group"), arguments.take("server"));
            Ok(Asked::Upstreams(UpstreamsRequest { group, server }))
        }),
        _ if !read => Err(ApiRejection::method("GET, HEAD")),
        b"live" => Arguments::parse(&request.route.args, &[])
            .map(|_| ApiCall::Live)
            .map_err(|why| ApiRejection::new(400, &why)),
        b"reasons" => Ok(ApiCall::Reasons),
        b"inspect" => inspect::parse_call(&request.route.args).map_err(|why| ApiRejection::new(400, &why)),
        b"cluster" => known(request, &[], |_| Ok(Asked::Cluster(ClusterRequest::default()))),
        b"tops" => known(request, &["by", "limit"], |arguments| {
            let by = arguments.take("by");
            Ok(Asked::Tops(TopsRequest { by, limit: arguments.number("limit")? }))
        }),
        b"history" => known(request, &["range", "step"], |arguments| {
            let range = arguments.number("range")?;
            Ok(Asked::History(HistoryRequest { range, step: arguments.number("step")? }))
        }),
        b"purges" => known(request, &["zone", "limit"], |arguments| {
            let zone = arguments.take("zone");
            Ok(Asked::Purges(PurgesRequest { zone, limit: arguments.number("limit")? }))
        }),
        b"leaks" => known(request, &["zone"], |arguments| {
            Ok(Asked::Leaks(LeaksRequest { zone: arguments.take("zone"), forgive: None }))
        }),
        b"tags" => known(request, &["zone", "match", "page", "limit"], |arguments| {
            let (zone, matching) = (arguments.take("zone"), arguments.take("match"));
            let (page, limit) = (arguments.take("page"), arguments.number("limit")?);
            Ok(Asked::Tags(TagsRequest { zone, matching, page, limit }))
        }),
        b"cache" => known(request, &["zone"], |arguments| {
            Ok(Asked::Stats(StatsRequest { zone: arguments.take("zone") }))
        }),
        b"memory" => known(request, &[], |_| Ok(Asked::Memory(MemoryRequest::default()))),
        b"cache/pages" => known(request, &["zone", "host", "match", "limit", "after"], pages),
        b"cache/page" => known(request, &["page", "zone", "body"], |arguments| {
            let page = arguments.take("page").ok_or("\"page\" is missing; specify a URL or a key")?;
            let body = match arguments.take("body").as_deref() {
                None => false,
                Some("on") => true,
                Some(_) => return Err("\"body\" must be \"on\"".to_owned()),
            };
            Ok(Asked::Page(PageRequest { page, zone: arguments.take("zone"), body }))
        }),
        _ => Err(ApiRejection::new(404, "unknown path")),
    }
}

/// Returns the stream of live events; status 403 if this API is restricted to one zone, 503 with too many readers.
fn live(request: &Request, rules: &ApiHandler, admitted: &ClientRights) -> PhaseStep {
    if let Some(zone) = &rules.scope.zone {
        return ApiRejection::new(403, &format!("this API is restricted to the zone \"{zone}\"")).answer();
    }
    match monitoring::stream(request, !admitted.is_authenticated) {
        Ok(answer) => PhaseStep::Answer(answer),
        Err(why) => ApiRejection::new(503, &why.to_string()).answer(),
    }
}

/// Checks whether a client may make this change: writing must be enabled and [`may_change`] must permit it; otherwise
/// returns a rejection with status 403. `Content-Type` must be JSON, otherwise 415: a page of another site may send a
/// form, but JSON only after a preflight `OPTIONS`, which is rejected.
fn may_write(request: &Request, rules: &ApiHandler, admitted: &ClientRights) -> Result<(), ApiRejection> {
    if !rules.write {
        return Err(ApiRejection::new(
            403,
            "this API is read-only; write \"api write=on;\" to allow changes",
        ));
    }
    may_change(request, admitted)?;
    is_json(request)
}

/// Checks whether a client may change data. It must be authenticated by a secret, a password or `auth_request`, because
/// several clients may share an address. Without access rules in the location, only clients on loopback or a Unix
/// socket are permitted. The host must be a name or address of this server, and the request must not originate from a
/// page of another site. Otherwise returns the rejection for the client.
fn may_change(request: &Request, admitted: &ClientRights) -> Result<(), ApiRejection> {
    let peer = request.received.connection.peer.ip().map(|ip| ip.to_canonical());
    // Without this check, a server in a container would accept changes from all clients of the container network.
    if !admitted.has_access_rules && peer.is_some_and(|peer| !peer.is_loopback()) {
        request.log(
            LogLevel::Error,
            format_args!("api forbidden: changes are only accepted from loopback; permit other addresses with \"allow\""),
        );
        return Err(ApiRejection::new(
            403,
            "changes are only accepted from loopback; permit other addresses with \"allow\"",
        ));
    }
    if !own_host::is_known(request) {
        return Err(unknown_host(request, "api"));
    }
    if foreign_page::is_foreign_page(request, false) {
        request.log(
            LogLevel::Error,
            format_args!("api forbidden: the request originates from a page of another site"),
        );
        return Err(ApiRejection::new(403, "the request originates from a page of another site"));
    }
    if !admitted.is_authenticated {
        request.log(LogLevel::Error, format_args!("api forbidden: {NO_SECRET}"));
        return Err(ApiRejection::new(403, NO_SECRET));
    }
    Ok(())
}

fn is_json(request: &Request) -> Result<(), ApiRejection> {
    let media_type = request.received.head.known(Known::ContentType).unwrap_or_default();
    let media_type = media_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if !media_type.eq_ignore_ascii_case(b"application/json") {
        return Err(ApiRejection::new(415, "Content-Type must be application/json"));
    }
    Ok(())
}

fn known(
    request: &Request,
    names: &[&str],
    ask: impl FnOnce(&mut Arguments) -> Result<Asked, String>,
) -> Result<ApiCall, ApiRejection> {
    let asked = Arguments::parse(&request.route.args, names).and_then(|mut arguments| ask(&mut arguments));
    asked.map(ApiCall::Known).map_err(|why| ApiRejection::new(400, &why))
}

fn pages(arguments: &mut Arguments) -> Result<Asked, String> {
    let limit = arguments.number("limit")?;
    let request = PagesRequest {
        zone: arguments.take("zone"),
        host: arguments.take("host"),
        matching: arguments.take("match"),
        limit: Some(limit.unwrap_or(PAGES.0).min(PAGES.1)),
        after: arguments.take("after"),
    };
    request.check().map_err(|error| error.to_string())?;
    Ok(Asked::Pages(request))
}

/// Executes a call on a separate thread. Values of query arguments are hidden unless the client is `proven`
/// ([`ClientRights::is_authenticated`]).
async fn execute_call(exchange: &mut Exchange, call: ApiCall, scope: ApiScope, proven: bool) -> PhaseStep {
    let is_unfinished = matches!(call, ApiCall::Writes(..));
    let mut asked = match call {
        ApiCall::Plus(asked) => return execute_plus(exchange, asked).await,
        ApiCall::Known(asked) => asked,
        ApiCall::Inspect(question, url) => {
            return inspect::inspect(exchange, question, url, &scope, proven).await;
        }
        ApiCall::Purge => match purge(exchange).await {
            Ok(asked) => asked,
            Err(refusal) => return refusal.answer(),
        },
        ApiCall::Writes(tag, _permit) => match unfinished_writes::wait(exchange, tag).await {
            Ok(purge) => purge,
            Err(answer) => return answer,
        },
        ApiCall::Live | ApiCall::Reasons => return PhaseStep::Error(500),
        ApiCall::ChangeUpstream => match change_upstream(exchange).await {
            Ok(asked) => asked,
            Err(refusal) => return refusal.answer(),
        },
    };
    if let Err(why) = scope.restrict_to_zone(&mut asked) {
        return ApiRejection::new(403, &why).answer();
    }
    let name = match asked {
        Asked::Stats(_) => "zones",
        Asked::Pages(_) | Asked::Page(_) => "pages",
        Asked::Purge(_) | Asked::Purges(_) => "purges",
        Asked::Leaks(_) => "leaks",
        Asked::Upstreams(_) | Asked::ChangeUpstream(_) => "servers",
        Asked::Memory(_)
        | Asked::Live(_)
        | Asked::Tops(_)
        | Asked::History(_)
        | Asked::Tags(_)
        | Asked::Senders(_)
        | Asked::Cluster(_)
        | Asked::Image(_) => "",
    };
    let is_one = matches!(asked, Asked::Page(_));
    // The client of unfinished writes cannot repeat its request.
    let turn = match &asked {
        _ if is_unfinished => None,
        Asked::Page(page) if page.body => RequestPermit::try_acquire_for_body(),
        _ => RequestPermit::try_acquire(),
    };
    if turn.is_none() && !is_unfinished {
        return ApiRejection::new(503, "too many concurrent requests; try again later").answer();
    }
    let administrator = Administrator::with_batches(exchange.request.runtime())
        .hide_values_unless(proven)
        .with_sight(&exchange.request.site.worker.observation.shared);
    let replies = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let mut replies: Vec<AdminReply> = Vec::new();
        administrator.answer(&asked, &mut |reply| {
            replies.push(reply);
            true
        });
        replies
    });
    match replies.await {
        Ok(replies) if is_one && matches!(replies[..], [AdminReply::End(_)]) => {
            ApiRejection::new(404, "page not found").answer()
        }
        Ok(replies) if name.is_empty() => answer::single_answer(replies),
        Ok(replies) => answer::list_answer(name, replies),
        Err(_) => PhaseStep::Error(500),
    }
}

async fn execute_plus(exchange: &mut Exchange, asked: plus::PlusRequest) -> PhaseStep {
    let body = if asked.has_body() { body(exchange).await } else { Ok(Vec::new()) };
    let error = match body {
        Ok(body) => match RequestPermit::try_acquire() {
            Some(_turn) => return plus::answer(&exchange.request, asked, body).await,
            None => plus::PlusError::new(503, "Busy", "too many concurrent requests; try again later"),
        },
        Err(refusal) => {
            let (status, why) = refusal.reason();
            plus::PlusError::new(status, "BodyReadError", why.to_owned())
        }
    };
    plus::rejection(&exchange.request, &error, asked.version())
}

async fn purge(exchange: &mut Exchange) -> Result<Asked, ApiRejection> {
    let bytes = body(exchange).await?;
    let purge = parse_purge(&bytes).map_err(|error| ApiRejection::new(400, &error.to_string()))?;
    exchange.request.log(LogLevel::Notice, format_args!("{} purges requested through the API", purge.len()));
    Ok(Asked::Purge(purge))
}

async fn change_upstream(exchange: &mut Exchange) -> Result<Asked, ApiRejection> {
    let bytes = body(exchange).await?;
    let change = parse_upstream_change(&bytes).map_err(|error| ApiRejection::new(400, &error.to_string()))?;
    Ok(Asked::ChangeUpstream(change))
}

/// Reads the request body. Returns a rejection if it is incomplete or longer than [`MOST_REQUEST_BYTES`].
async fn body(exchange: &mut Exchange) -> Result<Vec<u8>, ApiRejection> {
    exchange.request.upload.body.send_continue();
    let mut body = std::mem::replace(&mut exchange.request.upload.body, RequestBody::empty());
    let mut bytes = Vec::new();
    while let Some(piece) = poll_fn(|cx| Pin::new(&mut body).poll_data(cx)).await {
        bytes.extend_from_slice(
            &piece.map_err(|error| ApiRejection::new(error.status(), "the request body is incomplete"))?,
        );
        if bytes.len() > MOST_REQUEST_BYTES {
            return Err(ApiRejection::new(
                413,
                &format!("the body is longer than {MOST_REQUEST_BYTES} bytes"),
            ));
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_describes_every_path_of_our_own_and_no_other() {
        let document: serde_json::Value = serde_json::from_str(OPENAPI).expect("JSON");
        let described = document["paths"].as_object().expect("paths").keys();
        let own = described.map(|path| path.trim_start_matches('/'));
        let own = own.filter(|path| !path.starts_with("{version}") && !["", "openapi.json"].contains(path));
        let mut own: Vec<&str> = own.collect();
        let mut served = PATHS.to_vec();
        own.sort_unstable();
        served.sort_unstable();
        assert_eq!(own, served);
    }
}
