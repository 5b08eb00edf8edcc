//! Pages that come from the disk: read into memory when somebody asks for them, or sent piece by piece where they are
//! too long for that.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use myriad_http::Method;
use myriad_http::body::{Body, BodyError};
use myriad_net::ResponseBody;
use myriad_policy::CacheStatus;
use myriad_store::{BodyReader, BodyWriter, Capacity, FlightReader, KeyRef};

use super::{Step, Work, cached};
use crate::exchange::{Exchange, Request};
use crate::runtime::{CachePlace, Handler, Page, PageMeta};

/// How long a disk may keep those who read a page waiting before the page is no longer written to it.
const DISK_PATIENCE: Duration = Duration::from_secs(1);

/// A page that is being read from disk, or whose body is being opened.
pub(crate) enum Reading {
    /// It may be on disk.
    Load(FlightReader<PageMeta>),
    /// Its body is too long for memory.
    Open(Page, CacheStatus),
}

/// Begins to read the page that memory does not have, where it may be on disk.
pub(super) fn seek(request: &mut Request, cache: &CachePlace) -> Option<Step> {
    let fields = request.head.fields();
    let key = KeyRef::new(&request.cache.key);
    let sought =
        cache.zone.zone.seek(key, |selector, variant| cached::write_variant(selector, fields, variant))?;
    // A file that was read gave the page, or had none for this request.
    if request.cache.sought == Some(sought) {
        return None;
    }
    let reader = cache.zone.zone.load(key, sought, request.received_ms)?;
    request.cache.sought = Some(sought);
    Some(Step::Wait(Work::Stored(Reading::Load(reader))))
}

/// Waits for the disk.
pub(crate) async fn wait(exchange: &mut Exchange, reading: Reading) -> Step {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let Handler::Origin(origin) = &site.runtime.place(exchange.request.place).handler else {
        return Step::Error(500);
    };
    let Some(cache) = origin.cache.of(exchange.request.cache.chosen) else { return Step::Error(500) };
    match reading {
        Reading::Load(mut reader) => {
            // Whatever the end: what there is is in memory now.
            poll_fn(|cx| reader.poll_end(cx, |_, _| {}).map(drop)).await;
            cached::begin(exchange, origin, cache)
        }
        Reading::Open(page, status) => {
            let Some(stored) = page.stored_body() else { return Step::Error(500) };
            if let Some(open) = stored.open().await {
                exchange.request.cache.opened = Some(open.read(0..open.len()));
                cached::serve(exchange, origin, page, status)
            } else {
                // Somebody removed the file, or it is damaged: the page is not there.
                cache.zone.zone.forget(&page);
                cached::fetch_anew(exchange, origin, cache)
            }
        }
    }
}

/// Whether a page's body has to be opened before the page can be served.
pub(super) fn must_open(request: &Request, page: &Page) -> bool {
    page.stored_body().is_some() && request.cache.opened.is_none() && request.head.method() != Method::Head
}

/// The body of a page that lies on disk.
pub(super) fn body(request: &mut Request, page: &Page) -> Option<ResponseBody> {
    page.stored_body()?;
    let length = page.body_len();
    let body = StoredPage { reader: request.cache.opened.take(), length };
    Some(ResponseBody::Stream(Box::pin(body), Some(length)))
}

/// A body read from disk as the client takes it; without a reader for HEAD, which wants its length alone.
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
        Some(self.reader.as_ref().map_or(self.length, BodyReader::left))
    }

    fn skip(mut self: Pin<&mut Self>, bytes: u64) -> u64 {
        let Some(reader) = &mut self.reader else { return 0 };
        let before = reader.left();
        reader.skip(bytes);
        before - reader.left()
    }
}

/// Waits until the next piece of a page that is being fetched is wanted. A disk that does not keep up is given up, so
/// that it holds no visitor.
pub(super) async fn capacity(writer: &mut BodyWriter<PageMeta>) -> Capacity {
    loop {
        if !writer.is_spilling() {
            return poll_fn(|cx| writer.poll_capacity(cx)).await;
        }
        let wanted = tokio::time::timeout(DISK_PATIENCE, poll_fn(|cx| writer.poll_capacity(cx))).await;
        match wanted {
            Ok(capacity) => return capacity,
            Err(_) if writer.is_disk_behind() => writer.give_up_disk(),
            Err(_) => {}
        }
    }
}
