//! One request and its response.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use myriad_http::h1::{Framing, request_framing, wants_keep_alive};
use myriad_http::head::{RequestHead, Version};
use myriad_http::{Known, Method};

use super::send;
use crate::connection::Connection;
use crate::deadline;
use crate::request_body::RequestBody;
use crate::response::{Response, Sent};
use crate::service::{Outcome, Rejection, Service, Timeouts};
use crate::work::{self, Work};

/// What becomes of the connection.
pub(super) enum After {
    KeepAlive(Box<Work>),
    Close,
    /// The client may still be sending: a plain close would reset the answer under way.
    Linger(Timeouts),
}

/// What of the request the driver still needs once the service has taken the head.
struct Facts {
    head_only: bool,
    http11: bool,
    keep_alive: bool,
    bytes: u64,
}

impl Facts {
    fn of(head: &RequestHead) -> Self {
        Self {
            head_only: head.method() == Method::Head,
            http11: head.version() != Version::Http10,
            keep_alive: wants_keep_alive(head),
            bytes: head.raw().len() as u64,
        }
    }
}

/// Answers a request whose head has been read.
pub(super) async fn run<S: Service>(
    service: &S,
    connection: &Rc<Connection>,
    mut work: Box<Work>,
) -> After {
    let body = match request_framing(&work.head) {
        Ok(Framing::None) => RequestBody::empty(),
        Ok(framing) => {
            let input = std::mem::take(&mut work.input);
            let expects = work.head.known(Known::Expect).is_some_and(|value| {
                value.eq_ignore_ascii_case(b"100-continue") && work.head.version() == Version::Http11
            });
            RequestBody::new(Rc::clone(connection), framing, input, expects)
        }
        Err(error) => return reject(service, connection, work, Rejection::Malformed(error)).await,
    };
    connection.requests.set(connection.requests.get() + 1);
    let facts = Facts::of(&work.head);
    let held = body.handle();
    let response = match service.begin(&mut work.head, connection, body) {
        Outcome::Ready(response) => response,
        Outcome::Later(future) => match wait(future, connection, &held).await {
            Some(response) => response,
            None => return After::Close,
        },
    };
    answer(service, connection, work, response, &facts, &held).await
}

/// Answers what could not be read, then closes.
pub(super) async fn reject<S: Service>(
    service: &S,
    connection: &Rc<Connection>,
    mut work: Box<Work>,
    why: Rejection,
) -> After {
    connection.requests.set(connection.requests.get() + 1);
    let facts = Facts { keep_alive: false, ..Facts::of(&work.head) };
    let outcome = service.reject(why, &mut work.head, connection);
    let held = RequestBody::empty();
    let mut response = match outcome {
        Outcome::Ready(response) => response,
        Outcome::Later(future) => match wait(future, connection, &held).await {
            Some(response) => response,
            None => return After::Close,
        },
    };
    response.close = true;
    let timeouts = response.timeouts;
    match answer(service, connection, work, response, &facts, &held).await {
        After::KeepAlive(_) | After::Close if timeouts.lingering_ms > 0 => After::Linger(timeouts),
        after => after,
    }
}

/// Waits for a response while watching whether the client is still there.
async fn wait<T>(
    mut future: Pin<Box<dyn Future<Output = Response<T>>>>,
    connection: &Connection,
    body: &RequestBody,
) -> Option<Response<T>> {
    connection.deadline.clear();
    poll_fn(move |cx| {
        if let Poll::Ready(response) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(response));
        }
        // While a body is under way, what arrives is the body, and its reader sees a close.
        if body.is_done() && connection.socket.poll_closed(cx).is_ready() {
            return Poll::Ready(None);
        }
        Poll::Pending
    })
    .await
}

/// Sends the response and says what becomes of the connection.
async fn answer<S: Service>(
    service: &S,
    connection: &Rc<Connection>,
    mut work: Box<Work>,
    mut response: Response<S::Ticket>,
    facts: &Facts,
    body: &RequestBody,
) -> After {
    let timeouts = response.timeouts;
    let whole = body.is_done();
    let keep = facts.keep_alive
        && whole
        && !response.close
        && timeouts.keepalive_ms > 0
        && connection.requests.get() < timeouts.keepalive_requests
        && !deadline::draining();
    let keep = send::frame(&mut response, facts.http11, facts.head_only, keep);
    let status = if response.drop_connection { 0 } else { response.head.status() };
    let progress = if response.drop_connection {
        send::Progress::default()
    } else {
        match send::now(connection, &mut response, facts.head_only) {
            Some(progress) => progress,
            None => Box::pin(send::rest(connection, &mut response, facts.head_only)).await,
        }
    };
    let sent = Sent {
        status,
        head_bytes: progress.written.min(progress.head),
        body_bytes: progress.written.saturating_sub(progress.head),
        bytes: progress.written,
        complete: progress.complete,
        client_closed: progress.client_closed,
        pipelined: !work.input.is_empty(),
        request_bytes: facts.bytes + body.received(),
    };
    service.finish(&work.head, connection, response.ticket, &sent);
    work::give_head(response.head.text);
    if let Some(input) = body.take_input() {
        work.input = input;
    }
    if !progress.complete {
        return After::Close;
    }
    if keep {
        connection.deadline.set(timeouts.keepalive_ms);
        return After::KeepAlive(work);
    }
    let unread = !whole || !work.input.is_empty();
    if unread && timeouts.lingering_ms > 0 { After::Linger(timeouts) } else { After::Close }
}
