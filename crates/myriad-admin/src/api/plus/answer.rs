//! Execution of requests to NGINX Plus's API: output, reset of counts, or change of a server.

use myriad_exchange::exchange::{PhaseStep, Request};
use myriad_http::Method;
use myriad_log::LogLevel;
use serde_json::Value;

use super::super::answer::json_answer;
use super::error::PlusError;
use super::node::Node;
use super::request::PlusRequest;
use super::servers;
use super::site::SiteView;
use super::tree;

/// Result of a request to NGINX Plus's API: status, body, and ID of an added server.
struct PlusResult {
    status: u16,
    body: Option<Value>,
    /// ID of an added server, for the header `Location`; otherwise `None`.
    added: Option<u64>,
}

/// Returns the response with the list of supported versions of NGINX Plus's API.
pub(crate) fn versions() -> PhaseStep {
    json_answer(200, tree::versions().to_string())
}

/// Executes a request to NGINX Plus's API on a separate thread and returns the response. `body` is empty unless
/// [`PlusRequest::has_body`].
pub(crate) async fn answer(request: &Request, asked: PlusRequest, body: Vec<u8>) -> PhaseStep {
    let site = SiteView::of(request);
    let version = asked.version;
    let method = match asked.method {
        Method::Delete => "DELETE",
        Method::Patch => "PATCH",
        _ => "POST",
    };
    let what = format!("{method} of {}", crate::protocol::escape_bytes(asked.path.join("/").as_bytes()));
    let changes = !asked.reads();
    let done = tokio::task::spawn_blocking(move || execute(&site, &asked, &body)).await;
    let Ok(done) = done else { return PhaseStep::Error(500) };
    match done {
        Ok(done) => {
            if changes {
                request.log(LogLevel::Notice, format_args!("{what} through the API"));
            }
            let body = done.body.map(|body| body.to_string()).unwrap_or_default();
            let mut step = json_answer(done.status, body);
            if let (PhaseStep::Answer(answer), Some(id)) = (&mut step, done.added) {
                let uri = String::from_utf8_lossy(&request.route.uri).into_owned();
                let place = format!("{}/{id}", uri.trim_end_matches('/'));
                answer.field(b"Location", place.as_bytes());
            }
            step
        }
        Err(error) => rejection(request, &error, version),
    }
}

/// Returns the error response to a rejected request, in the format of NGINX Plus's API.
pub(crate) fn rejection(request: &Request, error: &PlusError, version: u8) -> PhaseStep {
    let id = request.id();
    json_answer(error.status(), error.body(&id, version).to_string())
}

fn execute(site: &SiteView, asked: &PlusRequest, body: &[u8]) -> Result<PlusResult, PlusError> {
    let path = asked.parts();
    let shown = |node: Node| PlusResult {
        status: 200,
        body: Some(node.into_value(asked.fields.as_deref())),
        added: None,
    };
    if asked.reads() {
        return tree::read(site, asked).map(shown);
    }
    match (&asked.method, &path[..]) {
        (Method::Post, ["http" | "stream", "upstreams", name, "servers"]) => {
            let block = tree::block(&path);
            let group = site.group(block, name)?;
            let change = servers::change(body, block, asked.version, true)?;
            let added = group.add(&change).map_err(|error| servers::edit_error(error, name))?;
            let object = servers::server(&added, block, asked.version);
            Ok(PlusResult { status: 201, body: Some(object.into()), added: Some(added.id) })
        }
        (Method::Patch, ["http" | "stream", "upstreams", name, "servers", id]) => {
            let block = tree::block(&path);
            let group = site.group(block, name)?;
            let id = tree::server_id(id)?;
            let change = servers::change(body, block, asked.version, false)?;
            let changed = group.change(id, &change).map_err(|error| servers::edit_error(error, name))?;
            Ok(shown(Node::Object(servers::server(&changed, block, asked.version))))
        }
        (Method::Delete, ["http" | "stream", "upstreams", name, "servers", id]) => {
            let block = tree::block(&path);
            let group = site.group(block, name)?;
            group.remove(tree::server_id(id)?).map_err(|error| servers::edit_error(error, name))?;
            let left = group.servers();
            let left = left.iter().map(|one| servers::server(one, block, asked.version).into());
            Ok(shown(Node::List(left.collect())))
        }
        (Method::Delete, _) => {
            tree::reset(site, asked)?;
            Ok(PlusResult { status: 204, body: None, added: None })
        }
        (Method::Post | Method::Patch, ["http" | "stream", "keyvals", _]) => {
            Err(PlusError::new(404, "KeyvalNotFound", "keyval not found"))
        }
        _ => {
            tree::read(site, asked)?;
            Err(PlusError::no_method())
        }
    }
}
