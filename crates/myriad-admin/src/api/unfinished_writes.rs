//! Writes of an application that is killed before it purges the changed pages: `POST …/writes?tag=TAG`.
//!
//! The application sends the header of this request before its first write, and the final chunk of the body after its
//! last purge. If it is killed in between, the system closes the connection, the body remains incomplete, and the pages
//! with the tag are invalidated.

use std::future::poll_fn;
use std::pin::Pin;

use crate::protocol::{AdminRequest, PurgeRequest};
use myriad_exchange::exchange::{Exchange, PhaseStep};
use myriad_http::body::{Body as _, BodyError};
use myriad_log::LogLevel;
use myriad_net::RequestBody;

use super::admission::{RequestCount, RequestPermit};
use super::answer::{ApiRejection, json_answer};
use super::arguments::Arguments;

/// Maximum number of concurrent requests `POST …/writes` in one location, over all workers. Each occupies a connection,
/// and each site of a server has a location.
const MAX_WRITERS: usize = 64;

/// Parses the query arguments of `POST …/writes`, and counts the request. Returns the tag of the pages to invalidate
/// (`tag`) and the permit. Returns a rejection if the tag is missing or empty, if there are other arguments, or if
/// [`MAX_WRITERS`] permits are in use.
pub(super) fn admit_writer(
    arguments: &[u8],
    count: &RequestCount,
) -> Result<(String, RequestPermit), ApiRejection> {
    let tag = Arguments::parse(arguments, &["tag"]).map(|mut arguments| arguments.take("tag"));
    let Some(tag) = tag.map_err(|why| ApiRejection::new(400, &why))?.filter(|tag| !tag.trim().is_empty())
    else {
        return Err(ApiRejection::new(400, "\"tag\" is missing; specify the tag of the pages to invalidate"));
    };
    let permit = RequestPermit::try_acquire_of(count, MAX_WRITERS);
    let permit = permit
        .ok_or_else(|| ApiRejection::new(503, "too many applications are writing; purge pages afterwards"))?;
    Ok((tag, permit))
}

/// Waits for the body of the request. If it is complete, returns the response as error; it must be empty, otherwise the
/// response has status 400. If it does not arrive in full (the connection is closed, `client_body_timeout` expires, or
/// the request is invalid), returns the purge to execute, which invalidates the pages with `tag`.
pub(super) async fn wait(exchange: &mut Exchange, tag: String) -> Result<AdminRequest, PhaseStep> {
    exchange.request.upload.body.send_continue();
    let mut body = std::mem::replace(&mut exchange.request.upload.body, RequestBody::empty());
    let error = match poll_fn(|cx| Pin::new(&mut body).poll_data(cx)).await {
        None => return Err(json_answer(200, "{}\n".to_owned())),
        Some(Ok(_)) => return Err(ApiRejection::new(400, "the body of this request must be empty").answer()),
        Some(Err(error)) => error,
    };
    let reason = match error {
        BodyError::Aborted => "was terminated before it purged".to_owned(),
        BodyError::Timeout => "has not purged within client_body_timeout".to_owned(),
        error => format!("has sent an invalid request ({error}) before it purged"),
    };
    exchange.request.log(
        LogLevel::Warn,
        format_args!(
            "an application {reason} the pages that its writes changed: pages with the tag \"{}\" are invalidated; see the \
             log of the application for the cause",
            tag.escape_debug()
        ),
    );
    Ok(AdminRequest::Purge(PurgeRequest { tags: vec![tag], invalidate: true, ..PurgeRequest::default() }))
}
