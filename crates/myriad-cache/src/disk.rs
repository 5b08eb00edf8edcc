//! Pages on disk: loaded into memory on request, or streamed if they are too large for memory.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use myriad_http::Method;
use myriad_http::body::{Body, BodyError};
use myriad_net::ResponseBody;
use myriad_policy::CacheStatus;
use myriad_store::{BodyReader, BodyWriter, Capacity, FlightReader, KeyRef, PageFile};

use crate::journey_step::{CacheContext, JourneyStep};
use myriad_exchange::exchange::{Exchange, Request};
use myriad_store::page::write_variant;
use myriad_store::page::{Page, PageMeta};

/// Maximum time for which a slow disk delays one piece of a page that is being fetched; after it, the page is no longer
/// written to disk.
const DISK_PATIENCE: Duration = Duration::from_secs(1);

/// Searches the index of the disk tier for a file that may contain a page that is not in memory. Returns the step that
/// loads the file, or the step for a missing page if there is no such file or if it was already loaded for this
/// request.
pub(crate) fn seek(exchange: &Exchange, cached: CacheContext<'_>) -> JourneyStep {
    let request = &exchange.request;
    let fields = request.received.head.fields();
    let key = KeyRef::new(&request.cache.key);
    let zone = &cached.cache.zone.zone;
    match zone.seek(key, |selector, variant| write_variant(selector, fields, variant)) {
        // A file that was already read for this request provided another page.
        Some(file) if request.cache.lookup.searched_file != Some(file) => JourneyStep::Load(file),
        _ => JourneyStep::Stale(None),
    }
}

/// Starts to read the page from a file of the disk tier into memory. If that is not possible, the request continues as
/// if no page were stored.
pub(crate) fn load(exchange: &mut Exchange, cached: CacheContext<'_>, file: PageFile) -> JourneyStep {
    let request = &mut exchange.request;
    let key = KeyRef::new(&request.cache.key);
    let Some(reader) = cached.cache.zone.zone.load(key, file, request.received.at_ms) else {
        return JourneyStep::Stale(None);
    };
    request.cache.lookup.searched_file = Some(file);
    JourneyStep::Read(reader)
}

/// Waits until the file of the page is read into memory, then returns the step that looks the page up again.
pub(crate) async fn read(mut reader: FlightReader<PageMeta>) -> JourneyStep {
    poll_fn(|cx| reader.poll_end(cx, |_, _| {}).map(drop)).await;
    JourneyStep::LookUp
}

/// Opens the body of a page that is too large for memory. If the file cannot be opened, the page is removed from
/// memory, and the request continues as if no page were stored.
pub(crate) async fn open(
    exchange: &mut Exchange,
    cached: CacheContext<'_>,
    page: Page,
    status: CacheStatus,
) -> JourneyStep {
    let Some(stored) = page.stored_body() else { return JourneyStep::Stale(None) };
    if let Some(open) = stored.open().await {
        exchange.request.cache.lookup.open_body = Some(open.read(0..open.len()));
        JourneyStep::Serve(page, status)
    } else {
        cached.cache.zone.zone.forget(&page);
        JourneyStep::Stale(None)
    }
}

/// Returns whether the file with the page's body must be opened before the page can be served. False for a body in
/// memory, for a file that is already open, and for HEAD.
pub(crate) fn must_open(request: &Request, page: &Page) -> bool {
    page.stored_body().is_some()
        && request.cache.lookup.open_body.is_none()
        && request.received.head.method() != Method::Head
}

/// Returns the body of a page on disk, which is read from the opened file; `None` if the page's body is in memory.
pub(crate) fn body(request: &mut Request, page: &Page) -> Option<ResponseBody> {
    page.stored_body()?;
    let length = page.body_len();
    let body = StoredPage { reader: request.cache.lookup.open_body.take(), length };
    Some(ResponseBody::Stream(Box::pin(body), Some(length)))
}

/// Body of a stored page, streamed from disk to the client. A HEAD request needs only the length, so the reader is
/// `None`.
struct StoredPage {
    reader: Option<BodyReader>,
    length: u64,
}

impl Body for StoredPage {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let Some(reader) = &mut self.reader else { return Poll::Ready(Some(Err(BodyError::Aborted))) };
        let piece = reader.poll_piece(cx);
        piece.map(|piece| piece.map(|piece| piece.map_err(|error| BodyError::Io(error.to_string()))))
    }

    fn size_hint(&self) -> Option<u64> {
        Some(self.reader.as_ref().map_or(self.length, BodyReader::remaining))
    }

    fn skip(mut self: Pin<&mut Self>, bytes: u64) -> u64 {
        let Some(reader) = &mut self.reader else { return 0 };
        let before = reader.remaining();
        reader.skip(bytes);
        before - reader.remaining()
    }
}

/// Waits until the writer of a page that is being fetched can accept the next piece. Returns [`Capacity::Abandoned`] if
/// the fetch must stop, because the page is too long for memory and has no reader and no file any more.
///
/// If a slow disk is the cause for more than [`DISK_PATIENCE`], the page is no longer written to disk, so that clients
/// do not stall.
pub(crate) async fn capacity(writer: &mut BodyWriter<PageMeta>) -> Capacity {
    loop {
        if !writer.is_spilling() {
            return poll_fn(|cx| writer.poll_capacity(cx)).await;
        }
        let wanted = tokio::time::timeout(DISK_PATIENCE, poll_fn(|cx| writer.poll_capacity(cx))).await;
        match wanted {
            Ok(capacity) => return capacity,
            Err(_) if writer.is_waiting_for_disk() => writer.stop_spilling(),
            Err(_) => {}
        }
    }
}
