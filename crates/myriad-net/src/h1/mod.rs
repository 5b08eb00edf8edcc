//! HTTP/1 driver: reads heads, calls the service, writes responses, and maintains the connection.
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

pub(crate) use tunnel::end as tunnel_end;
pub use tunnel::end_tunnels;

use crate::connection::Connection;
use crate::h2;
use crate::request_buffers::{self, RequestBuffers};
use crate::service::{Behind, Service};
use crate::timeouts::Timeouts;
use crate::tls::{self, Greeting};
use exchange::After;
use read::Read;

/// Performs the handshake with a client of a TLS port. Returns whether the connection can be served.
async fn greet<S: Service>(service: &S, connection: &Connection) -> bool {
    // Boxed, so that an idle connection does not contain the space for it.
    match Box::pin(tls::accept(&tls::OfService(service), connection)).await {
        Greeting::Secure => {
            service.handshake_over(connection, None);
            true
        }
        Greeting::Plain => {
            connection.plain_to_tls.set(true);
            true
        }
        Greeting::Failed(failure) => {
            if let Some(failure) = failure {
                service.handshake_over(connection, Some(failure.counted()));
                if failure.is_told() {
                    service.tls_failed(connection, &failure);
                }
            }
            false
        }
    }
}

/// Serves one connection until it closes.
pub(crate) async fn drive<S: Service>(service: Rc<S>, connection: &Rc<Connection>) {
    if service.is_secure(connection) && !greet(&*service, connection).await {
        return;
    }
    if connection.tls().is_some_and(|facts| &*facts.alpn == b"h2") {
        return Box::pin(h2::drive(service, connection, &[])).await;
    }
    let mut carried: Option<Box<RequestBuffers>> = None;
    loop {
        let ran = match read::head(&*service, connection, carried.take()).await {
            Read::Closed => return,
            Read::Request(buffers) => exchange::run(&service, connection, buffers),
            Read::Http2(buffers) => {
                let early = buffers.input.bytes().to_vec();
                request_buffers::give(buffers);
                return Box::pin(h2::drive(service, connection, &early)).await;
            }
            Read::Rejected(buffers, why) => exchange::reject(&service, connection, buffers, why),
        };
        let (behind, linger) = match ran.end().await {
            After::KeepAlive(buffers) if buffers.input.is_empty() => {
                request_buffers::give(buffers);
                continue;
            }
            After::KeepAlive(mut buffers) => {
                buffers.pipelined = true;
                carried = Some(buffers);
                continue;
            }
            After::Close => (None, None),
            After::CloseBehind(behind) => (Some(behind), None),
            After::Linger(timeouts) => (None, Some(timeouts)),
        };
        let logged = service.logged();
        if logged.is_some() || behind.is_some() || linger.is_some() {
            // Boxed, so that an idle connection does not contain the space for it.
            Box::pin(finish(connection, logged, behind, linger)).await;
        }
        return connection.end();
    }
}

/// Waits for the work that delays the close of a connection whose last response was sent.
async fn finish(
    connection: &Rc<Connection>,
    logged: Option<Behind>,
    behind: Option<Behind>,
    linger: Option<Timeouts>,
) {
    if let Some(logged) = logged {
        close_wait::logged(connection, logged).await;
    }
    if let Some(behind) = behind {
        close_wait::refreshed(connection, behind).await;
    }
    if let Some(timeouts) = linger {
        crate::linger::run(connection, timeouts).await;
    }
}
