//! Response body of an HTTP/2 stream, read on demand.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use myriad_conf::model::MeasuredUntil;
use myriad_http::body::{Body, BodyError};

use super::exchange::{Event, H2Exchange};
use crate::error::{OriginError, Phase};
use crate::response::Trailers;

//   Open ──▶ Complete     the origin completed the body
//     └────▶ Failed       the body was aborted: reported after all earlier data
enum State {
    Open(Box<H2Exchange>),
    Complete,
    Failed(BodyError),
}

/// Response body that stores the trailers at its end.
pub(super) struct StreamBody {
    state: State,
    /// Number of body bytes that the consumer has not read yet; `None` if the length is not known.
    left: Option<u64>,
    trailers: Trailers,
}

impl StreamBody {
    pub(super) fn new(exchange: H2Exchange, left: Option<u64>, trailers: Trailers) -> Self {
        Self { state: State::Open(Box::new(exchange)), left, trailers }
    }

    fn fail(&mut self, error: OriginError) -> BodyError {
        let error = error.into_body_error();
        self.state = State::Failed(error.clone());
        error
    }
}

impl Body for StreamBody {
    fn poll_data(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let this = self.get_mut();
        let exchange = match &mut this.state {
            State::Open(exchange) => exchange,
            State::Complete => return Poll::Ready(None),
            State::Failed(error) => return Poll::Ready(Some(Err(error.clone()))),
        };
        Poll::Ready(match ready!(exchange.poll(cx, Phase::ReadingBody)) {
            Ok(Event::Data(piece)) => {
                exchange.log.body(piece.len());
                if let Some(left) = &mut this.left {
                    *left = left.saturating_sub(piece.len() as u64);
                }
                Some(Ok(piece))
            }
            Ok(Event::End(trailers)) => {
                exchange.active.record_time(MeasuredUntil::Last, exchange.log.elapsed_ms());
                if let Some(trailers) = trailers {
                    this.trailers.replace(trailers);
                }
                this.left = Some(0);
                this.state = State::Complete;
                None
            }
            Ok(Event::Head(_)) => {
                let error =
                    OriginError::invalid(Phase::ReadingBody, "upstream sent a second response header");
                Some(Err(this.fail(error)))
            }
            Err(error) => Some(Err(this.fail(error))),
        })
    }

    fn size_hint(&self) -> Option<u64> {
        match &self.state {
            State::Failed(_) => None,
            State::Open(_) | State::Complete => self.left,
        }
    }
}
