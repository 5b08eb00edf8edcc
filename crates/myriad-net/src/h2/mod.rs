//! HTTP/2 driver: one task per connection, around the codec of `myriad-http`.
//!
//! ```text
//!            .-- woken streams: poll their futures, pull pieces of bodies
//!            v
//!   read -> codec -> begin -> Ready | Later      schedule -> one write -> over: finish
//!    ^                                                                     |
//!    '------------------------- while there is progress -------------------'
//!                                      |
//!                     no progress: deadlines (idle, send, stalled windows), then sleep
//! ```
//!
//! The requests of one read are processed together: heads and bodies of many cache hits are sent with one `writev`,
//! without a copy of the bodies. An idle connection holds the codec's tables and no buffer: reads use one buffer per
//! worker, and only an incomplete frame is stored.

mod buffered_bytes;
mod driver;
mod exchange;
mod read;
mod streams;
mod wake;

use std::future::poll_fn;
use std::rc::Rc;

use crate::connection::Connection;
use crate::h1::close_wait;
use crate::lingering_close;
use crate::service::Service;
use driver::{CloseReason, Driver};

/// Serves an HTTP/2 connection until it closes. `early` contains the bytes that were read before HTTP/2 was detected.
pub(crate) async fn drive<S: Service>(service: Rc<S>, connection: &Rc<Connection>, early: &[u8]) {
    let mut driver = Driver::new(Rc::clone(&service), Rc::clone(connection), early);
    let end = poll_fn(|cx| driver.poll(cx)).await;
    let timeouts = driver.timeouts();
    drop(driver);
    if matches!(end, CloseReason::ShutDown)
        && let Some(logged) = service.logged()
    {
        close_wait::wait_until_logged(connection, logged).await;
    }
    match end {
        CloseReason::TooSlow => connection.socket.reset_on_close(),
        CloseReason::TimedOut if timeouts.reset_timed_out => connection.socket.reset_on_close(),
        CloseReason::ShutDown if timeouts.lingering_ms > 0 && !connection.is_evicted() => {
            lingering_close::run(connection, timeouts).await;
        }
        CloseReason::Gone | CloseReason::TimedOut | CloseReason::ShutDown => {}
    }
    connection.finish();
}
