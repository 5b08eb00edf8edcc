//! Request handler of the API: parsing, access control and response.

use std::future::poll_fn;
use std::pin::Pin;

use crate::protocol::sight::{HistoryRequest, PurgesRequest, TagsRequest, TopsRequest};
use crate::protocol::{
    MOST_REQUEST_BYTES, MemoryRequest, PageRequest, PagesRequest, Reply, Request as Asked, StatsRequest,
    UpstreamsRequest, parse_purge, parse_upstream_change,
};
use myriad_http::body::Body as _;
use myriad_http::{Known, Method};
use myriad_log::Level;
use myriad_net::RequestBody;

use super::admission::{Admitted, Turn, admit, explained};
use super::answer::{self, Refusal, unknown_host};
use super::arguments::Arguments;
use super::call::Call;
use super::inspect;
use super::plus;
use super::scope::Scope;
use crate::admin::Administrator;
use crate::purge::foreign_page;
use crate::purge::own_host;
use crate::sight;
use myriad_exchange::exchange::Step;
use myriad_exchange::exchange::{Exchange, Handler, Request};

/// Paths of Myriad's API, each described in the OpenAPI document. Other paths are rejected.
const PATHS: [&str; 13] = [
    "cache",
    "cache/pages",
    "cache/page",
    "history",
    "inspect",
    "live",
    "memory",
    "purge",
    "purges",
    "reasons",
    "tags",
    "tops",
    "upstreams",
];
/// Error for a change if the location requires no secret.
const NO_SECRET: &str = "changes require a secret: add secret_sha256=HASH to \"api write=on\", where HASH is the output of \"printf %s \
     SECRET | sha256sum\", or require a password in the location (auth_basic, auth_request)";
/// Default and maximum of `limit`, in pages.
const PAGES: (u64, u64) = (100, 1000);

/// Description of the complete API in OpenAPI 3.0.
const OPENAPI: &str = include_str!("openapi.json");

/// `api`.
#[derive(Clone, Debug)]
pub(crate) struct ApiHandler {
    /// Set if changes are permitted.
    pub(crate) write: bool,
    /// Secret and zone of the API.
    pub(crate) scope: Scope,
    /// Prefix of its paths.
    pub(crate) prefix: Box<[u8]>,
}

impl Handler for ApiHandler {
    fn begin(&self, exchange: &mut Exchange) -> Step {
        begin(exchange, self)
    }
}

/// Parses a request and checks access.
fn begin(exchange: &mut Exchange, rules: &ApiHandler) -> Step {
    let request = &exchange.request;
    if request.received.sink.is_some() {
        return explained(request, "api", "response of the API");
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
        return answer::json(200, OPENAPI.to_owned());
    }
    if plus::is_version(path) {
        return match plus_call(request, rules, path, &admitted) {
            Ok(call) => wait_for(call, rules, &admitted),
            Err(error) => plus::refused(request, &error, plus::version_of(path)),
        };
    }
    match call(request, rules, &admitted) {
        Ok(Call::Reasons) => answer::reasons(),
        Ok(Call::Live) => live(request, rules, &admitted),
        Ok(call) => wait_for(call, rules, &admitted),
        Err(refusal) => refusal.answer(),
    }
}

fn wait_for(call: Call, rules: &ApiHandler, admitted: &Admitted) -> Step {
    let (scope, proven) = (rules.scope.clone(), admitted.proven);
    Step::wait(async move |exchange| wait(exchange, call, scope, proven).await)
}

/// Returns the path after that of the location.
fn path_of<'a>(request: &'a Request, rules: &ApiHandler) -> &'a [u8] {
    let path = request.route.uri.strip_prefix(&*rules.prefix).unwrap_or(&request.route.uri);
    path.strip_prefix(b"/").unwrap_or(path)
}

/// Returns the versions of NGINX Plus's API, which its clients request first.
fn versions(request: &Request, rules: &ApiHandler) -> Step {
    if !matches!(request.received.head.method(), Method::Get | Method::Head) {
        return Refusal::method("GET, HEAD").answer();
    }
    match &rules.scope.zone {
        Some(zone) => Refusal::new(403, &format!("this API is restricted to the zone \"{zone}\"")).answer(),
        None => plus::versions(),
    }
}

/// Parses a call of NGINX Plus's API and checks access.
fn plus_call(
    request: &Request,
    rules: &ApiHandler,
    path: &[u8],
    admitted: &Admitted,
) -> Result<Call, plus::PlusError> {
    if let Some(zone) = &rules.scope.zone {
        let why = format!("this API is restricted to the zone \"{zone}\"");
        return Err(plus::PlusError::new(403, "Forbidden", why));
    }
    let local = request.received.connection.local();
    let address = local.map(|local| local.ip().to_canonical().to_string()).unwrap_or_default();
    let method = request.received.head.method();
    let asked = plus::Asked::parse(path, &request.route.args, method, address)?;
    if asked.reads() {
        return Ok(Call::Plus(asked));
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
    Ok(Call::Plus(asked))
}

fn call(request: &Request, rules: &ApiHandler, admitted: &Admitted) -> Result<Call, Refusal> {
    let path = path_of(request, rules);
    let read = matches!(request.received.head.method(), Method::Get | Method::Head);
    let path = path.strip_suffix(b"/").unwrap_or(path);
    if !PATHS.iter().any(|known| known.as_bytes() == path) {
        return Err(Refusal::new(404, &format!("unknown path; valid paths: {}", PATHS.join(", "))));
    }
    match path {
        b"purge" if request.received.head.method() == Method::Post => {
            may_write(request, rules, admitted).map(|()| Call::Purge)
        }
        b"purge" => Err(Refusal::method("POST")),
        b"upstreams" if request.received.head.method() == Method::Post => {
            may_write(request, rules, admitted).map(|()| Call::ChangeUpstream)
        }
        b"upstreams" if !read => Err(Refusal::method("GET, HEAD, POST")),
        b"upstreams" => known(request, &["group", "server"], |arguments| {
            let (group, server) = (arguments.take("group"), arguments.take("server"));
            Ok(Asked::Upstreams(UpstreamsRequest { group, server }))
        }),
        _ if !read => Err(Refusal::method("GET, HEAD")),
        b"live" => Arguments::parse(&request.route.args, &[])
            .map(|_| Call::Live)
            .map_err(|why| Refusal::new(400, &why)),
        b"reasons" => Ok(Call::Reasons),
        b"inspect" => inspect::asked(&request.route.args).map_err(|why| Refusal::new(400, &why)),
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
        b"cache/page" => known(request, &["page", "zone"], |arguments| {
            let page = arguments.take("page").ok_or("\"page\" is missing; specify a URL or a key")?;
            Ok(Asked::Page(PageRequest { page, zone: arguments.take("zone") }))
        }),
        _ => Err(Refusal::new(404, "unknown path")),
    }
}

/// Returns the live events, for clients with access to all zones.
fn live(request: &Request, rules: &ApiHandler, admitted: &Admitted) -> Step {
    if let Some(zone) = &rules.scope.zone {
        return Refusal::new(403, &format!("this API is restricted to the zone \"{zone}\"")).answer();
    }
    match sight::stream(request, !admitted.proven) {
        Ok(answer) => Step::Answer(answer),
        Err(why) => Refusal::new(503, &why.to_string()).answer(),
    }
}

/// Checks access of a change. JSON is required, since a page of another site may send a form, but JSON only after a
/// preflight `OPTIONS`, which is not answered.
fn may_write(request: &Request, rules: &ApiHandler, admitted: &Admitted) -> Result<(), Refusal> {
    if !rules.write {
        return Err(Refusal::new(403, "this API is read-only; write \"api write=on;\" to allow changes"));
    }
    may_change(request, admitted)?;
    is_json(request)
}

/// Checks whether a client may change data. It requires a secret or a password, so that a shared address does not grant
/// access. Without access rules in the location only loopback is permitted. The host must be a name of this server, and
/// the request must not originate from a page of another site.
fn may_change(request: &Request, admitted: &Admitted) -> Result<(), Refusal> {
    let peer = request.received.connection.peer.ip().map(|ip| ip.to_canonical());
    // With containers, all clients may have an address of the container network.
    if !admitted.ruled && peer.is_some_and(|peer| !peer.is_loopback()) {
        request.log(
            Level::Error,
            format_args!("api forbidden: changes are only accepted from loopback; permit other addresses with \"allow\""),
        );
        return Err(Refusal::new(
            403,
            "changes are only accepted from loopback; permit other addresses with \"allow\"",
        ));
    }
    if !own_host::is_known(request) {
        return Err(unknown_host(request, "api"));
    }
    if foreign_page::is_asking(request, false) {
        request.log(
            Level::Error,
            format_args!("api forbidden: the request originates from a page of another site"),
        );
        return Err(Refusal::new(403, "the request originates from a page of another site"));
    }
    if !admitted.proven {
        request.log(Level::Error, format_args!("api forbidden: {NO_SECRET}"));
        return Err(Refusal::new(403, NO_SECRET));
    }
    Ok(())
}

fn is_json(request: &Request) -> Result<(), Refusal> {
    let media_type = request.received.head.known(Known::ContentType).unwrap_or_default();
    let media_type = media_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if !media_type.eq_ignore_ascii_case(b"application/json") {
        return Err(Refusal::new(415, "Content-Type must be application/json"));
    }
    Ok(())
}

fn known(
    request: &Request,
    names: &[&str],
    ask: impl FnOnce(&mut Arguments) -> Result<Asked, String>,
) -> Result<Call, Refusal> {
    let asked = Arguments::parse(&request.route.args, names).and_then(|mut arguments| ask(&mut arguments));
    asked.map(Call::Known).map_err(|why| Refusal::new(400, &why))
}

fn pages(arguments: &mut Arguments) -> Result<Asked, String> {
    let limit = arguments.take("limit").map(|text| text.parse::<u64>());
    let limit = limit.transpose().map_err(|_| "\"limit\" must be a number".to_owned())?;
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

/// Executes a call on a separate thread. Values of arguments are hidden unless the client is `proven`.
async fn wait(exchange: &mut Exchange, call: Call, scope: Scope, proven: bool) -> Step {
    let mut asked = match call {
        Call::Plus(asked) => return ask_plus(exchange, asked).await,
        Call::Known(asked) => asked,
        Call::Inspect(question, url) => {
            return inspect::inspect(exchange, question, url, &scope, proven).await;
        }
        Call::Purge => match purge(exchange).await {
            Ok(asked) => asked,
            Err(refusal) => return refusal.answer(),
        },
        Call::Live | Call::Reasons => return Step::Error(500),
        Call::ChangeUpstream => match change_upstream(exchange).await {
            Ok(asked) => asked,
            Err(refusal) => return refusal.answer(),
        },
    };
    if let Err(why) = scope.bind(&mut asked) {
        return Refusal::new(403, &why).answer();
    }
    let name = match asked {
        Asked::Stats(_) => "zones",
        Asked::Pages(_) | Asked::Page(_) => "pages",
        Asked::Purge(_) | Asked::Purges(_) => "purges",
        Asked::Upstreams(_) | Asked::ChangeUpstream(_) => "servers",
        Asked::Memory(_)
        | Asked::Live(_)
        | Asked::Tops(_)
        | Asked::History(_)
        | Asked::Tags(_)
        | Asked::Senders(_) => "",
    };
    let is_one = matches!(asked, Asked::Page(_));
    let Some(turn) = Turn::take() else {
        return Refusal::new(503, "too many concurrent requests; try again later").answer();
    };
    let administrator = Administrator::of_batches(exchange.request.runtime())
        .hiding_values_unless(proven)
        .seeing(&exchange.request.site.worker.sight.shared);
    let told = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let mut told: Vec<Reply> = Vec::new();
        administrator.answer(&asked, &mut |reply| {
            told.push(reply);
            true
        });
        told
    });
    match told.await {
        Ok(told) if is_one && matches!(told[..], [Reply::End(_)]) => {
            Refusal::new(404, "page not found").answer()
        }
        Ok(told) if name.is_empty() => answer::one(told),
        Ok(told) => answer::told(name, told),
        Err(_) => Step::Error(500),
    }
}

async fn ask_plus(exchange: &mut Exchange, asked: plus::Asked) -> Step {
    let body = if asked.has_body() { body(exchange).await } else { Ok(Vec::new()) };
    let error = match body {
        Ok(body) => match Turn::take() {
            Some(_turn) => return plus::answer(&exchange.request, asked, body).await,
            None => plus::PlusError::new(503, "Busy", "too many concurrent requests; try again later"),
        },
        Err(refusal) => {
            let (status, why) = refusal.reason();
            plus::PlusError::new(status, "BodyReadError", why.to_owned())
        }
    };
    plus::refused(&exchange.request, &error, asked.version())
}

async fn purge(exchange: &mut Exchange) -> Result<Asked, Refusal> {
    let bytes = body(exchange).await?;
    let purge = parse_purge(&bytes).map_err(|error| Refusal::new(400, &error.to_string()))?;
    exchange.request.log(Level::Notice, format_args!("{} purges requested through the API", purge.len()));
    Ok(Asked::Purge(purge))
}

async fn change_upstream(exchange: &mut Exchange) -> Result<Asked, Refusal> {
    let bytes = body(exchange).await?;
    let change = parse_upstream_change(&bytes).map_err(|error| Refusal::new(400, &error.to_string()))?;
    Ok(Asked::ChangeUpstream(change))
}

/// Reads the body of a request, whose length is limited.
async fn body(exchange: &mut Exchange) -> Result<Vec<u8>, Refusal> {
    exchange.request.upload.body.send_continue();
    let mut body = std::mem::replace(&mut exchange.request.upload.body, RequestBody::empty());
    let mut bytes = Vec::new();
    while let Some(piece) = poll_fn(|cx| Pin::new(&mut body).poll_data(cx)).await {
        bytes.extend_from_slice(
            &piece.map_err(|error| Refusal::new(error.status(), "the request body is incomplete"))?,
        );
        if bytes.len() > MOST_REQUEST_BYTES {
            return Err(Refusal::new(413, &format!("the body is longer than {MOST_REQUEST_BYTES} bytes")));
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
