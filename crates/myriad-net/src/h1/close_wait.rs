//! Wait before the server closes a connection whose last response was sent completely.
//!
//! The wait is for the lines of unbuffered access logs, which are in the file when the connection closes, as in nginx,
//! and for the refresh of the stale page that was the response: most refreshes take some milliseconds, so a client that
//! reconnects at once gets the new page. nginx waits for both without a limit; here both waits are bounded. Only a
//! client that reads until the connection closes can observe them.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use crate::connection::Connection;
use crate::service::PostResponseWork;

/// Maximum delay of a close by a refresh.
const MOST: Duration = Duration::from_millis(40);

/// Waits until the lines of the exchanges are logged, but only while the client is connected. The connection counts as
/// idle.
pub(crate) async fn wait_until_logged(connection: &Connection, mut logged: PostResponseWork) {
    connection.mark_idle();
    poll_fn(|cx| match logged.as_mut().poll(cx) {
        Poll::Pending => connection.socket.poll_closed(cx),
        Poll::Ready(()) => Poll::Ready(()),
    })
    .await;
}

/// Waits for a refresh after the response, for at most [`MOST`] and only while the client is connected.
pub(super) async fn wait_for_refresh(connection: &Connection, mut behind: PostResponseWork) {
    let over = poll_fn(|cx| match behind.as_mut().poll(cx) {
        Poll::Pending => connection.socket.poll_closed(cx),
        Poll::Ready(()) => Poll::Ready(()),
    });
    let _ = tokio::time::timeout(MOST, over).await;
}
