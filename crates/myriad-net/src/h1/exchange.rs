//! Processing of one request and its response on an HTTP/1 connection.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use myriad_http::h1::{Framing, request_framing, wants_keep_alive};
use myriad_http::head::{HttpVersion, RequestHead};
use myriad_http::{Known, Method};

use super::{send, tunnel};
use crate::activity::Activity;
use crate::connection::Connection;
use crate::deadline;
use crate::request_body::RequestBody;
use crate::request_buffers::{self, RequestBuffers};
use crate::response::{Response, ResponseBody, SentReport};
use crate::service::{PostResponseWork, Rejection, Service, ServiceOutcome};
use crate::test_panic::test_panic;
use crate::timeouts::Timeouts;

/// Maximum time in milliseconds for discarding an unread request body so that the connection can stay open, if
/// `lingering_close` is off. The default of nginx's `lingering_time`.
const DRAIN_MS: u64 = 30_000;

/// Next action of the HTTP/1 driver after an exchange.
pub(super) enum NextState {
    /// Wait for the next request. The buffers may already contain a part of it.
    KeepAlive(Box<RequestBuffers>),
    /// Close the connection without waiting for the client or a refresh.
    Close,
    /// Close the connection once the work after the response (such as a cache refresh) has finished or timed out, or
    /// the client has disconnected.
    CloseAfterWork(PostResponseWork),
    /// Discard input for a while, then close: an immediate close would reset the connection before the client has read
    /// the response.
    Linger(Timeouts),
}

/// Properties of the request that are needed after the service has taken the head.
struct RequestProperties {
    head_only: bool,
    http11: bool,
    keep_alive: bool,
    /// Set if the head was invalid or timed out. The rest of the input is discarded, so that it does not cause a reset.
    rejected: bool,
    bytes: u64,
}

impl RequestProperties {
    fn of(head: &RequestHead) -> Self {
        Self {
            head_only: head.method() == Method::Head,
            http11: head.version() != HttpVersion::Http10,
            keep_alive: wants_keep_alive(head),
            rejected: false,
            bytes: head.raw().len() as u64,
        }
    }
}

/// Result of the start of an exchange: the exchange is finished, or continues asynchronously.
pub(super) enum ExchangeStart {
    /// The exchange is finished; contains the next action of the driver.
    Done(NextState),
    /// The exchange continues in a separate, boxed future, so that idle connections reserve no space for it.
    Waiting(Pin<Box<dyn Future<Output = NextState>>>),
}

impl ExchangeStart {
    /// Waits until the exchange is finished and returns the next action of the driver.
    pub(super) async fn into_next_state(self) -> NextState {
        match self {
            Self::Done(after) => after,
            Self::Waiting(future) => future.await,
        }
    }
}

/// Everything that an HTTP/1 exchange needs after its request head has been read.
struct ExchangeParts<S: Service> {
    service: Rc<S>,
    connection: Rc<Connection>,
    buffers: Box<RequestBuffers>,
    body: RequestBody,
    facts: RequestProperties,
}

/// Starts the exchange of a request whose head has been read.
pub(super) fn run<S: Service>(
    service: &Rc<S>,
    connection: &Rc<Connection>,
    mut buffers: Box<RequestBuffers>,
) -> ExchangeStart {
    let body = match request_framing(&buffers.head) {
        Ok(Framing::None) => RequestBody::empty(),
        Ok(framing) => {
            let input = std::mem::take(&mut buffers.input);
            let expects = buffers.head.known(Known::Expect).is_some_and(|value| {
                value.eq_ignore_ascii_case(b"100-continue") && buffers.head.version() == HttpVersion::Http11
            });
            RequestBody::new(Rc::clone(connection), framing, input, expects)
        }
        Err(error) => return reject(service, connection, buffers, Rejection::Malformed(error)),
    };
    connection.requests.set(connection.requests.get() + 1);
    test_panic("connection");
    let facts = RequestProperties::of(&buffers.head);
    let held = body.handle();
    let outcome = service.begin(&mut buffers.head, connection, body);
    let (service, connection) = (Rc::clone(service), Rc::clone(connection));
    ExchangeParts { service, connection, buffers, body: held, facts }.process_outcome(outcome)
}

/// Responds with an error to a request head that is invalid or timed out. The connection is closed afterwards.
pub(super) fn reject<S: Service>(
    service: &Rc<S>,
    connection: &Rc<Connection>,
    mut buffers: Box<RequestBuffers>,
    why: Rejection,
) -> ExchangeStart {
    connection.requests.set(connection.requests.get() + 1);
    let facts =
        RequestProperties { keep_alive: false, rejected: true, ..RequestProperties::of(&buffers.head) };
    let outcome = service.reject(why, &mut buffers.head, connection);
    let (service, connection) = (Rc::clone(service), Rc::clone(connection));
    ExchangeParts { service, connection, buffers, body: RequestBody::empty(), facts }.process_outcome(outcome)
}

impl<S: Service> ExchangeParts<S> {
    fn process_outcome(self, outcome: ServiceOutcome<S::ExchangeState>) -> ExchangeStart {
        match outcome {
            ServiceOutcome::Ready(response) => self.send_response(response),
            ServiceOutcome::Later(future) => ExchangeStart::Waiting(Box::pin(async move {
                match wait(future, &self.connection, &self.body).await {
                    Some(response) => self.send_response(response).into_next_state().await,
                    None => NextState::Close,
                }
            })),
        }
    }

    /// Sends the response, or relays a tunnel. Finishes immediately if no response is sent (status 444), or if it is
    /// written at once and the request body is complete or the connection closes.
    fn send_response(self, mut response: Response<S::ExchangeState>) -> ExchangeStart {
        let timeouts = response.timeouts;
        if matches!(response.body, ResponseBody::Tunnel(_)) {
            return ExchangeStart::Waiting(Box::pin(self.tunnel(response)));
        }
        let keep = self.facts.keep_alive
            && (self.body.is_done() || self.body.is_drainable())
            && !response.close
            && timeouts.keepalive_ms > 0
            && self.connection.requests.get() < timeouts.keepalive_requests
            && !deadline::draining();
        let head_only = self.facts.head_only;
        let keep = send::complete_head(&mut response, self.facts.http11, head_only, keep);
        if response.drop_connection {
            return ExchangeStart::Done(self.finish(response, send::SendProgress::default(), false));
        }
        match send::try_send(&self.connection, &mut response, head_only) {
            Some(progress) if !keep || self.body.is_done() => {
                ExchangeStart::Done(self.finish(response, progress, keep))
            }
            sent => ExchangeStart::Waiting(Box::pin(async move {
                let mut parts = self;
                let progress = match sent {
                    Some(progress) => progress,
                    None => send::send_rest(&parts.connection, &mut response, head_only).await,
                };
                let limit_ms = if timeouts.lingering_ms > 0 { timeouts.lingering_ms } else { DRAIN_MS };
                let keep = keep && progress.complete && parts.body.drain(limit_ms).await;
                parts.finish(response, progress, keep)
            })),
        }
    }

    /// Sends the head of the response, then relays bytes in both directions. If the head cannot be sent or the request
    /// body is incomplete, nothing is relayed. The connection is closed afterwards.
    async fn tunnel(mut self, mut response: Response<S::ExchangeState>) -> NextState {
        let body = std::mem::replace(&mut response.body, ResponseBody::None);
        response.head.append_lines(b"\r\n");
        let mut progress = send::send_rest(&self.connection, &mut response, true).await;
        if let ResponseBody::Tunnel(tunnel) = body
            && progress.complete
            && self.body.is_done()
        {
            let mut early = self.body.take_input().unwrap_or_default();
            if early.is_empty() {
                early = std::mem::take(&mut self.buffers.input);
            }
            let send_ms = response.timeouts.send_ms;
            progress.written += tunnel::run(&self.connection, *tunnel, early.bytes(), send_ms).await;
        }
        self.buffers.input.clear();
        self.finish(response, progress, false)
    }

    fn finish(
        self,
        response: Response<S::ExchangeState>,
        progress: send::SendProgress,
        keep: bool,
    ) -> NextState {
        let Self { service, connection, mut buffers, body, facts } = self;
        let timeouts = response.timeouts;
        let whole = body.is_done();
        let sent = SentReport {
            status: if response.drop_connection { 0 } else { response.head.status() },
            head_bytes: progress.written.min(progress.head),
            body_bytes: progress.written.saturating_sub(progress.head),
            bytes: progress.written,
            complete: progress.complete,
            pipelined: buffers.pipelined,
            keep_alive: !response.close,
            chunked: response.chunked,
            request_bytes: facts.bytes + body.received(),
            first_us: progress.first_us,
        };
        let post_work = service.finish(&buffers.head, &connection, response.ticket, &sent);
        request_buffers::return_head(response.head.text);
        if let Some(input) = body.take_input() {
            buffers.input = input;
        }
        if !progress.complete {
            let is_late = progress.timed_out || response.drop_connection;
            if progress.too_slow || timeouts.reset_timed_out && is_late {
                connection.socket.reset_on_close();
            }
            if progress.too_slow {
                service.client_too_slow(&connection);
            }
            return NextState::Close;
        }
        if keep {
            let tick = connection.deadline.set(timeouts.keepalive_ms);
            connection.activity.set(Activity::idle(tick, connection.requests.get()));
            return NextState::KeepAlive(buffers);
        }
        let unread = timeouts.lingering_always || facts.rejected || !whole || !buffers.input.is_empty();
        request_buffers::return_buffers(buffers);
        match post_work {
            _ if unread && timeouts.lingering_ms > 0 => NextState::Linger(timeouts),
            Some(behind) => NextState::CloseAfterWork(behind),
            None => NextState::Close,
        }
    }
}

/// Waits for the response of the service. Returns `None` if the client disconnects first, which is not detected while
/// the request body is incomplete.
async fn wait<T>(
    mut future: Pin<Box<dyn Future<Output = Response<T>>>>,
    connection: &Connection,
    body: &RequestBody,
) -> Option<Response<T>> {
    connection.deadline.clear();
    connection.waiting.set(connection.requests.get());
    let response = poll_fn(move |cx| {
        if let Poll::Ready(response) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(response));
        }
        // While a body is incomplete, arriving data belongs to the body, and its reader detects a close.
        if body.is_done() && connection.socket.poll_closed(cx).is_ready() {
            return Poll::Ready(None);
        }
        Poll::Pending
    })
    .await;
    connection.waiting.set(0);
    response
}
