//! Waits between the last response of an HTTP/1 or HTTP/2 connection and the close of the connection.
//!
//! There are two reasons. Lines of unbuffered access logs are written before the connection closes, as in nginx. And if
//! an HTTP/1 response was stale, its refresh often takes only some milliseconds: a client that reconnects gets the new
//! response. nginx waits for both without a limit. Here the refresh delays the close by at most [`MOST`], and both
//! delay it only while the client is connected. Only clients that read until the connection closes notice the wait.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use crate::connection::Connection;
use crate::service::PostResponseWork;

/// Maximum time for which the close of a connection waits for the cache refresh that was started by serving a stale
/// response.
const MOST: Duration = Duration::from_millis(40);

/// Waits until the access log lines of the connection's exchanges are written, or the client disconnects. The
/// connection counts as idle meanwhile.
pub(crate) async fn wait_until_logged(connection: &Connection, mut logged: PostResponseWork) {
    connection.mark_idle();
    poll_fn(|cx| match logged.as_mut().poll(cx) {
        Poll::Pending => connection.socket.poll_closed(cx),
        Poll::Ready(()) => Poll::Ready(()),
    })
    .await;
}

/// Waits for the cache refresh that a stale response started, for at most [`MOST`] and while the client is connected.
pub(super) async fn wait_for_refresh(connection: &Connection, mut behind: PostResponseWork) {
    let over = poll_fn(|cx| match behind.as_mut().poll(cx) {
        Poll::Pending => connection.socket.poll_closed(cx),
        Poll::Ready(()) => Poll::Ready(()),
    });
    let _ = tokio::time::timeout(MOST, over).await;
}
