//! The HTTP/1 driver: reads heads, asks the service, writes answers, keeps the connection.
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

mod exchange;
mod read;
mod refresh_wait;
mod send;
mod tunnel;

use std::rc::Rc;

pub(crate) use tunnel::end as tunnel_end;
pub use tunnel::end_tunnels;

use crate::connection::Connection;
use crate::h2;
use crate::request_buffers::{self, RequestBuffers};
use crate::service::Service;
use crate::tls::{self, Greeting};
use exchange::After;
use read::Read;

/// Takes a client of a TLS port in. Returns whether there is anybody to serve.
async fn greet<S: Service>(service: &S, connection: &Connection) -> bool {
    // Boxed: an idle connection does not carry the room for it.
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

/// Serves one connection until it ends.
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
        match ran.end().await {
            After::KeepAlive(buffers) if buffers.input.is_empty() => request_buffers::give(buffers),
            After::KeepAlive(mut buffers) => {
                buffers.pipelined = true;
                carried = Some(buffers);
            }
            After::Close => return connection.end(),
            After::CloseBehind(behind) => {
                Box::pin(refresh_wait::wait(connection, behind)).await;
                return connection.end();
            }
            After::Linger(timeouts) => {
                Box::pin(crate::linger::run(connection, timeouts)).await;
                return connection.end();
            }
        }
    }
}
