//! What makes the answers: files, origins, the cache in front of them, errors.

mod api;
mod autoindex;
mod bind;
pub(crate) mod cached;
mod early;
pub(crate) mod error;
mod fetch;
mod foreign_page;
mod group;
mod invalidate;
mod nominated;
mod observer;
mod origin;
mod origin_tls;
mod other_codings;
mod own_host;
mod pace;
mod page;
pub(crate) mod page_key;
mod params;
mod precompressed;
mod proxy_cookies;
pub(crate) mod proxy_fields;
pub(crate) mod proxy_request;
mod proxy_url;
pub(crate) mod purge;
mod read_ahead;
mod reader;
pub(crate) mod redirect;
pub(crate) mod revalidate;
mod static_file;
mod stored;
pub(crate) mod streamed;
mod stub_status;
mod told;
mod unbuffered;
pub(crate) mod upgrade;
mod upload;
mod validity;
mod way;

pub(crate) use group::HTTP_IDLE;
pub(crate) use origin::passes_behind as passes;
pub(crate) use other_codings::of_other_codings;

use std::borrow::Cow;
use std::path::PathBuf;

use crate::exchange::{Exchange, Request};
use crate::explain;
use crate::output::Answer;
use crate::phases::{self, Decision};
use crate::runtime::Handler;

/// What a handler came to.
pub(crate) enum Step {
    /// The answer.
    Answer(Answer),
    /// Something to wait for.
    Wait(Work),
    /// The URI is another one now: an internal redirect.
    Redirect,
    /// Go on in a named location.
    Named(Box<[u8]>),
    /// An error, to be answered by an `error_page` or the built-in page.
    Error(u16),
}

/// Something to wait for.
pub(crate) enum Work {
    /// A file to be read.
    Load {
        /// What is known of it.
        found: static_file::Found,
        /// Where it is.
        path: PathBuf,
    },
    /// A folder to be listed.
    List(PathBuf),
    /// A check of the visitor, before any content.
    Gate(Box<phases::gate::Wait>),
    /// An origin to be asked for this request alone.
    Origin,
    /// A body to be read before the cache is asked.
    Gather,
    /// A page that is on its way into the cache.
    Page(cached::Wait),
    /// A page to be read from disk.
    Stored(stored::Reading),
    /// Pages to be purged.
    Purge(Box<purge::Order>),
    /// What an administrator asks.
    Api(Box<api::Call>),
}

/// Makes the content of the current place.
pub(crate) fn begin(exchange: &mut Exchange) -> Step {
    let site = std::rc::Rc::clone(&exchange.request.site);
    match &site.runtime.place(exchange.request.place).handler {
        Handler::Files => static_file::begin(exchange),
        Handler::StubStatus => stub_status::begin(exchange),
        Handler::Api(rules) => api::begin(exchange, rules),
        Handler::Purge(rules) => purge::begin(exchange, rules),
        Handler::Origin(origin) => match proxy_url::resolve(exchange, origin) {
            Some(step) => step,
            None if exchange.request.trace.is_some() => explain::origin(exchange, origin),
            None => cached::choose(exchange, origin),
        },
    }
}

/// Makes the content of the place that the rules came to for an earlier request like this one, where it is at hand: a
/// fresh page or a file in memory. None: the long way.
pub(crate) fn shortcut(exchange: &mut Exchange) -> Option<Step> {
    let site = std::rc::Rc::clone(&exchange.request.site);
    match &site.runtime.place(exchange.request.place).handler {
        Handler::Files => static_file::shortcut(exchange),
        Handler::StubStatus | Handler::Api(_) | Handler::Purge(_) => None,
        Handler::Origin(origin) => cached::shortcut(exchange, origin),
    }
}

/// Waits for what the phases could not give at once, and goes on until there is an answer.
pub(crate) async fn wait(exchange: &mut Exchange, mut work: Work) -> Answer {
    // What an origin or the disk had a say in does not follow from the request alone: no short way for the next.
    exchange.request.strayed.set(true);
    exchange.request.waited = true;
    loop {
        let step = match work {
            Work::Load { found, path } => static_file::load(exchange, found, path).await,
            Work::Gate(wait) => phases::gate::wait(exchange, *wait).await,
            Work::List(folder) => autoindex::list(exchange, folder).await,
            Work::Origin => origin::pass(exchange).await,
            Work::Gather => cached::gather(exchange).await,
            Work::Page(wait) => cached::wait(exchange, wait).await,
            Work::Stored(reading) => stored::wait(exchange, reading).await,
            Work::Purge(order) => purge::wait(exchange, *order).await,
            Work::Api(call) => api::wait(exchange, *call).await,
        };
        match phases::run(exchange, phases::Entry::Step(step)) {
            Decision::Ready(answer) => return answer,
            Decision::Wait(next) => work = next,
        }
    }
}

/// The media type that the place gives to a path.
pub(crate) fn media_type(request: &Request, path: &[u8]) -> Cow<'static, [u8]> {
    let files = &request.place().files;
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let extension =
        name.iter().rposition(|byte| *byte == b'.').filter(|at| *at > 0).map(|at| &name[at + 1..]);
    let found = extension.and_then(|extension| {
        files.types.get(extension).or_else(|| files.types.get(&extension.to_ascii_lowercase()[..]))
    });
    Cow::Owned(found.unwrap_or(&files.default_type).to_vec())
}
