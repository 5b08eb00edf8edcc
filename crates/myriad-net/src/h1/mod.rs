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

mod behind;
mod exchange;
mod read;
mod send;
mod tunnel;

use std::rc::Rc;

pub use tunnel::end_tunnels;

use crate::connection::Connection;
use crate::h2;
use crate::service::Service;
use crate::tls::{self, Greeting};
use crate::work::{self, Work};
use exchange::After;
use read::Read;

/// Takes a client of a TLS port in. Returns whether there is anybody to serve.
async fn greet<S: Service>(service: &S, connection: &Connection) -> bool {
    // Boxed: an idle connection does not carry the room for it.
    match Box::pin(tls::accept(service, connection)).await {
        Greeting::Secure => true,
        Greeting::Plain => {
            connection.plain_to_tls.set(true);
            true
        }
        Greeting::Failed(error) => {
            if let Some(error) = error {
                service.tls_failed(connection, &error);
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
    let mut carried: Option<Box<Work>> = None;
    loop {
        let ran = match read::head(&*service, connection, carried.take()).await {
            Read::Closed => return,
            Read::Request(work) => exchange::run(&service, connection, work),
            Read::Http2(work) => {
                let early = work.input.bytes().to_vec();
                work::give(work);
                return Box::pin(h2::drive(service, connection, &early)).await;
            }
            Read::Rejected(work, why) => exchange::reject(&service, connection, work, why),
        };
        match ran.end().await {
            After::KeepAlive(work) if work.input.is_empty() => work::give(work),
            After::KeepAlive(mut work) => {
                work.pipelined = true;
                carried = Some(work);
            }
            After::Close => return connection.end(),
            After::CloseBehind(behind) => {
                Box::pin(behind::wait(connection, behind)).await;
                return connection.end();
            }
            After::Linger(timeouts) => {
                Box::pin(crate::linger::run(connection, timeouts)).await;
                return connection.end();
            }
        }
    }
}
