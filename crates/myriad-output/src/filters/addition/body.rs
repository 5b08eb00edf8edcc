//! Response body with the responses of subrequests before and after it.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use myriad_exchange::subrequest::SubrequestFuture;
use myriad_http::body::{Body, BodyError, BoxBody};

/// Part of a body that is combined from a response and the responses of subrequests.
pub(super) enum AdditionPart {
    /// Subrequest; its response is awaited once the previous parts are complete.
    Subrequest(SubrequestFuture),
    /// Body that is sent.
    Body(BoxBody),
}

/// Parts of the combined body, in order.
pub(super) struct AdditionBody(VecDeque<AdditionPart>);

impl AdditionBody {
    pub(super) fn new(parts: Vec<AdditionPart>) -> Self {
        Self(parts.into())
    }
}

impl Body for AdditionBody {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            match self.0.front_mut() {
                None => return Poll::Ready(None),
                Some(AdditionPart::Subrequest(asked)) => {
                    let answer = ready!(asked.as_mut().poll(cx));
                    if answer.response.dropped {
                        self.0.clear();
                        return Poll::Ready(Some(Err(BodyError::Aborted)));
                    }
                    self.0[0] = AdditionPart::Body(answer.into_body());
                }
                Some(AdditionPart::Body(body)) => match ready!(body.as_mut().poll_data(cx)) {
                    None => drop(self.0.pop_front()),
                    Some(Ok(piece)) => return Poll::Ready(Some(Ok(piece))),
                    // After an error, the following parts would be misplaced.
                    Some(Err(error)) => {
                        self.0.clear();
                        return Poll::Ready(Some(Err(error)));
                    }
                },
            }
        }
    }

    fn size_hint(&self) -> Option<u64> {
        None
    }
}
