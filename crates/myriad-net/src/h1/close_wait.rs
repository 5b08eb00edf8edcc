//! The wait before the server closes a connection whose last answer was sent completely.
//!
//! It is for the lines of unbuffered access logs, which are in the file when the connection closes, as in nginx, and for the
//! refresh of the stale page that was the answer: most refreshes take some milliseconds, so a client that comes again at once
//! gets the new page. nginx waits for both however long they take; here both waits are bounded. Only a client that reads to the end
//! of the connection notices them.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use crate::connection::Connection;
use crate::service::Behind;

/// Maximum delay of a close by a refresh.
const MOST: Duration = Duration::from_millis(40);

/// Waits until the lines of the exchanges are logged, only while the client is connected. The connection counts as idle.
pub(crate) async fn logged(connection: &Connection, mut logged: Behind) {
    connection.rest();
    poll_fn(|cx| match logged.as_mut().poll(cx) {
        Poll::Pending => connection.socket.poll_closed(cx),
        Poll::Ready(()) => Poll::Ready(()),
    })
    .await;
}

/// Waits for a refresh behind the answer, for at most [`MOST`] and only while the client is connected.
pub(super) async fn refreshed(connection: &Connection, mut behind: Behind) {
    let over = poll_fn(|cx| match behind.as_mut().poll(cx) {
        Poll::Pending => connection.socket.poll_closed(cx),
        Poll::Ready(()) => Poll::Ready(()),
    });
    let _ = tokio::time::timeout(MOST, over).await;
}
