//! Page in flight as the body of a response.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use myriad_http::body::{Body, BodyError, BoxBody};
use myriad_store::{FlightEnd, FlightReader};
use tokio::task::JoinHandle;

use myriad_origin::read_ahead::{ReadAheadLimits, read_started_ahead};
use myriad_store::page::PageMeta;

/// Body of a response that is read from a page in flight.
///
/// A page that is too large for memory is fetched at the speed of its slowest reader. From then on, the page is read
/// ahead of the client if the configuration permits it, so that a slow client does not occupy a php-fpm child. A client
/// that reads nothing does not poll the body either, so a separate task detects when the page becomes too large.
pub(crate) struct FlightBody {
    source: Rc<RefCell<FlightSource>>,
    watch: Option<JoinHandle<()>>,
}

/// Source from which the next piece of the body is read.
enum FlightSource {
    /// The page in flight, read at the client's speed, with the waker of a pending poll.
    Flight(Flight, Option<Waker>),
    /// Body that reads the page in flight ahead of the client, into a buffer.
    Ahead(BoxBody),
    /// Temporary state while the source changes from `Flight` to `Ahead`, and the state after the body was dropped.
    Nothing,
}

struct Flight(FlightReader<PageMeta>);

impl FlightBody {
    /// Creates the body; `ahead` are the limits of reading ahead, `None` disables it.
    pub(crate) fn new(reader: FlightReader<PageMeta>, ahead: Option<ReadAheadLimits>) -> Self {
        let mut twin = ahead.is_some().then(|| reader.new_reader());
        let source = Rc::new(RefCell::new(FlightSource::Flight(Flight(reader), None)));
        let watch = twin.take().zip(ahead).map(|(mut twin, ahead)| {
            let source = Rc::clone(&source);
            tokio::task::spawn_local(async move {
                let end = poll_fn(|cx| twin.poll_end(cx, |_, _| {})).await;
                drop(twin);
                if let FlightEnd::Oversized = end {
                    source.borrow_mut().start_read_ahead(ahead);
                }
            })
        });
        Self { source, watch }
    }
}

impl FlightSource {
    fn start_read_ahead(&mut self, ahead: ReadAheadLimits) {
        match std::mem::replace(self, Self::Nothing) {
            Self::Flight(flight, waker) => {
                *self = Self::Ahead(read_started_ahead(Box::pin(flight), ahead));
                waker.into_iter().for_each(Waker::wake);
            }
            other => *self = other,
        }
    }
}

impl Body for Flight {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.0.poll_chunk(cx).map(|piece| piece.map(|piece| piece.map_err(|_| BodyError::Aborted)))
    }

    fn size_hint(&self) -> Option<u64> {
        None
    }
}

impl Body for FlightBody {
    fn poll_data(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        match &mut *self.source.borrow_mut() {
            FlightSource::Flight(flight, waker) => {
                let polled = Pin::new(flight).poll_data(cx);
                *waker = polled.is_pending().then(|| cx.waker().clone());
                polled
            }
            FlightSource::Ahead(body) => body.as_mut().poll_data(cx),
            FlightSource::Nothing => Poll::Ready(Some(Err(BodyError::Aborted))),
        }
    }

    fn size_hint(&self) -> Option<u64> {
        None
    }
}

impl Drop for FlightBody {
    fn drop(&mut self) {
        // Drops the reader of the page immediately, although the task may still hold a reference.
        *self.source.borrow_mut() = FlightSource::Nothing;
        if let Some(watch) = &self.watch {
            watch.abort();
        }
    }
}
