//! A page on its way into the cache, read as a body.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use myriad_http::body::{Body, BodyError, BoxBody};
use myriad_store::{FlightEnd, FlightReader};
use tokio::task::JoinHandle;

use myriad_origin::read_ahead::{Ahead, ahead_of};
use myriad_page::PageMeta;

/// One reader of a flight.
///
/// A page that is too long for memory is fetched no faster than the slowest of its readers takes it. So from then on it is read
/// ahead of the client, where the configuration reads ahead: a slow client does not hold a php-fpm child. A client that takes
/// nothing asks for nothing either; so a task of its own sees when the page has become too long.
pub(crate) struct FlightBody {
    source: Rc<RefCell<Source>>,
    watch: Option<JoinHandle<()>>,
}

/// Where the next piece comes from.
enum Source {
    /// The flight, as the client takes it; who waits for it.
    Flight(Flight, Option<Waker>),
    /// What is read ahead of the client.
    Ahead(BoxBody),
    /// Between the two.
    Nothing,
}

struct Flight(FlightReader<PageMeta>);

impl FlightBody {
    /// A reader that may be read so far ahead of its client; none for not at all.
    pub(crate) fn new(reader: FlightReader<PageMeta>, ahead: Option<Ahead>) -> Self {
        let mut twin = ahead.is_some().then(|| reader.another());
        let source = Rc::new(RefCell::new(Source::Flight(Flight(reader), None)));
        let watch = twin.take().zip(ahead).map(|(mut twin, ahead)| {
            let source = Rc::clone(&source);
            tokio::task::spawn_local(async move {
                let end = poll_fn(|cx| twin.poll_end(cx, |_, _| {})).await;
                drop(twin);
                if let FlightEnd::Oversized = end {
                    source.borrow_mut().go_ahead(ahead);
                }
            })
        });
        Self { source, watch }
    }
}

impl Source {
    fn go_ahead(&mut self, ahead: Ahead) {
        match std::mem::replace(self, Self::Nothing) {
            Self::Flight(flight, waker) => {
                *self = Self::Ahead(ahead_of(Box::pin(flight), ahead));
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
            Source::Flight(flight, waker) => {
                let polled = Pin::new(flight).poll_data(cx);
                *waker = polled.is_pending().then(|| cx.waker().clone());
                polled
            }
            Source::Ahead(body) => body.as_mut().poll_data(cx),
            Source::Nothing => Poll::Ready(Some(Err(BodyError::Aborted))),
        }
    }

    fn size_hint(&self) -> Option<u64> {
        None
    }
}

impl Drop for FlightBody {
    fn drop(&mut self) {
        // The flight sees at once that nobody reads it.
        *self.source.borrow_mut() = Source::Nothing;
        if let Some(watch) = &self.watch {
            watch.abort();
        }
    }
}
