//! HTTP/1 driver: reads request heads, calls the service, writes responses, and then waits for the next request or
//! closes the connection.
//!
//! | file | content |
//! |---|---|
//! | `read` | waiting for a request and reading its head |
//! | `exchange` | one request and its response |
//! | `send` | writing the response |
//! | `tunnel` | relay of bytes after a protocol switch or a CONNECT |
//! | `close_wait` | waits before the connection closes |
//!
//! ```text
//!            +------------------------------ keep-alive ------------------------------+
//!            v                                                                        |
//!   idle -> head -> begin -> Ready ------------------------> write -> body left? -> finish
//!    |       |        |                                        ^                      |
//!    |    rejected    +----> Later -> wait (client watched) ---+                   close, linger
//!    v       v
//!  close   error page, close
//! ```

pub(crate) mod close_wait;
mod exchange;
mod read;
mod send;
mod tunnel;

use std::rc::Rc;

pub use tunnel::close_tunnels;
pub(crate) use tunnel::tunnel_deadline as tunnel_end;

use crate::connection::Connection;
use crate::h2;
use crate::request_buffers::{self, RequestBuffers};
use crate::service::{PostResponseWork, Service};
use crate::timeouts::Timeouts;
use crate::tls::{self, HandshakeResult};
use exchange::NextState;
use read::HeadResult;

/// Performs the handshake on a TLS port. Returns true if the connection can be served, including plain HTTP (status
/// 497).
async fn tls_handshake<S: Service>(service: &S, connection: &Connection) -> bool {
    // Boxed, so that idle connections reserve no space for it.
    match Box::pin(tls::accept(&tls::ServiceCallbacks(service), connection)).await {
        HandshakeResult::Secure => {
            service.handshake_over(connection, None);
            true
        }
        HandshakeResult::Plain => {
            connection.plain_to_tls.set(true);
            true
        }
        HandshakeResult::Failed(failure) => {
            if let Some(failure) = failure {
                service.handshake_over(connection, Some(failure.category()));
                if failure.is_logged() {
                    service.tls_failed(connection, &failure);
                }
            }
            false
        }
    }
}

/// Serves one connection until it closes. Switches to the HTTP/2 driver if the client uses HTTP/2.
pub(crate) async fn drive<S: Service>(service: Rc<S>, connection: &Rc<Connection>) {
    if service.is_secure(connection) && !tls_handshake(&*service, connection).await {
        return;
    }
    if connection.tls().is_some_and(|facts| &*facts.alpn == b"h2") {
        return Box::pin(h2::drive(service, connection, &[])).await;
    }
    let mut carried: Option<Box<RequestBuffers>> = None;
    loop {
        let ran = match read::read_head(&*service, connection, carried.take()).await {
            HeadResult::Closed => return,
            HeadResult::Request(buffers) => exchange::run(&service, connection, buffers),
            HeadResult::Http2(buffers) => {
                let early = buffers.input.bytes().to_vec();
                request_buffers::return_buffers(buffers);
                return Box::pin(h2::drive(service, connection, &early)).await;
            }
            HeadResult::Rejected(buffers, why) => exchange::reject(&service, connection, buffers, why),
        };
        let (behind, linger) = match ran.into_next_state().await {
            NextState::KeepAlive(buffers) if buffers.input.is_empty() => {
                request_buffers::return_buffers(buffers);
                continue;
            }
            NextState::KeepAlive(mut buffers) => {
                buffers.pipelined = true;
                carried = Some(buffers);
                continue;
            }
            NextState::Close => (None, None),
            NextState::CloseAfterWork(behind) => (Some(behind), None),
            NextState::Linger(timeouts) => (None, Some(timeouts)),
        };
        let logged = service.logged();
        if logged.is_some() || behind.is_some() || linger.is_some() {
            // Boxed, so that idle connections reserve no space for it.
            Box::pin(wait_before_close(connection, logged, behind, linger)).await;
        }
        return connection.finish();
    }
}

/// Waits for the work that delays the close after the last response: access log lines, a cache refresh, and lingering
/// input.
async fn wait_before_close(
    connection: &Rc<Connection>,
    logged: Option<PostResponseWork>,
    post_work: Option<PostResponseWork>,
    linger: Option<Timeouts>,
) {
    if let Some(logged) = logged {
        close_wait::wait_until_logged(connection, logged).await;
    }
    if let Some(behind) = post_work {
        close_wait::wait_for_refresh(connection, behind).await;
    }
    if let Some(timeouts) = linger {
        crate::lingering_close::run(connection, timeouts).await;
    }
}
