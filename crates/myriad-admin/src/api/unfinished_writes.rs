//! Writes of an application that is killed before it purges the changed pages: `POST …/writes?tag=TAG`.
//!
//! The application sends the header of this request before its first write, and the final chunk of the body after its last purge. If
//! it is killed in between, the system closes the connection, the body remains incomplete, and the pages with the tag are
//! invalidated.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::protocol::{AdminRequest, MOST_REQUEST_BYTES, PurgeRequest};
use myriad_exchange::exchange::{Exchange, PhaseStep};
use myriad_http::body::Body as _;
use myriad_log::LogLevel;
use myriad_net::RequestBody;

use super::answer::{ApiRejection, json_answer};
use super::arguments::Arguments;
use super::call::ApiCall;

/// Maximum number of these requests at the same time, over all workers. Each occupies a connection.
const MAX_WRITERS: usize = 1024;

static WRITERS: AtomicUsize = AtomicUsize::new(0);

/// Place of a request among [`MAX_WRITERS`]; dropping it frees the place.
struct WriterPermit;

impl WriterPermit {
    /// Returns a permit; `None` if all are in use.
    fn try_acquire() -> Option<Self> {
        let permit = Self;
        (WRITERS.fetch_add(1, SeqCst) < MAX_WRITERS).then_some(permit)
    }
}

impl Drop for WriterPermit {
    fn drop(&mut self) {
        WRITERS.fetch_sub(1, SeqCst);
    }
}

/// Parses the query arguments: `tag` is the tag of the pages to invalidate.
pub(super) fn parse_call(arguments: &[u8]) -> Result<ApiCall, ApiRejection> {
    let tag = Arguments::parse(arguments, &["tag"]).map(|mut arguments| arguments.take("tag"));
    match tag.map_err(|why| ApiRejection::new(400, &why))? {
        Some(tag) if !tag.trim().is_empty() => Ok(ApiCall::Writes(tag)),
        _ => Err(ApiRejection::new(400, "\"tag\" is missing; specify the tag of the pages to invalidate")),
    }
}

/// Waits until the body is complete, and returns the response as error. Returns a purge if the connection is closed first.
pub(super) async fn wait(exchange: &mut Exchange, tag: String) -> Result<AdminRequest, PhaseStep> {
    let Some(_permit) = WriterPermit::try_acquire() else {
        return Err(
            ApiRejection::new(503, "too many applications are writing; purge pages afterwards").answer()
        );
    };
    exchange.request.upload.body.send_continue();
    let mut body = std::mem::replace(&mut exchange.request.upload.body, RequestBody::empty());
    let mut length = 0;
    while let Some(piece) = poll_fn(|cx| Pin::new(&mut body).poll_data(cx)).await {
        let Ok(piece) = piece else {
            exchange.request.log(
                LogLevel::Warn,
                format_args!(
                    "an application was terminated before it purged the pages that its writes changed: pages with the tag \"{}\" \
                     are invalidated; see the log of the application for the cause",
                    tag.escape_debug()
                ),
            );
            let purge = PurgeRequest { tags: vec![tag], invalidate: true, ..PurgeRequest::default() };
            return Ok(AdminRequest::Purge(purge));
        };
        length += piece.len();
        if length > MOST_REQUEST_BYTES {
            return Err(ApiRejection::new(413, "the body of this request must be empty").answer());
        }
    }
    Err(json_answer(200, "{}\n".to_owned()))
}
