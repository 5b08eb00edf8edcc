//! Lingering close (`lingering_close`): shuts down writing, then reads and discards input until the client closes or a
//! timeout expires, so that the client can read the response.

use std::future::poll_fn;
use std::task::Poll;

use crate::clock::monotonic_ms;
use crate::connection::Connection;
use crate::timeouts::Timeouts;

/// Performs the lingering close. Returns once the client has closed, or a time limit has expired.
pub(crate) async fn run(connection: &Connection, timeouts: Timeouts) {
    connection.socket.shutdown_write();
    connection.mark_idle();
    let until = monotonic_ms() + timeouts.lingering_ms;
    let mut sink = vec![0u8; 4096];
    loop {
        let left = until.saturating_sub(monotonic_ms());
        if left == 0 {
            return;
        }
        connection.deadline.set(left.min(timeouts.lingering_idle_ms.max(1)));
        let more = poll_fn(|cx| match connection.socket.poll_read(cx, &mut sink) {
            Poll::Ready(Ok(count)) => Poll::Ready(count > 0),
            Poll::Ready(Err(_)) => Poll::Ready(false),
            Poll::Pending => connection.deadline.poll_expired(cx).map(|()| false),
        })
        .await;
        if !more {
            return;
        }
    }
}
