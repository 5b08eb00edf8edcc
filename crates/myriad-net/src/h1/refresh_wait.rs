//! The wait before a close: a moment for the refresh of the stale page that was the answer.
//!
//! The answer has left whole, length and all; only who reads to the end of the connection notices. nginx keeps such a
//! connection open until the refresh is over, however long that takes. Most refreshes take some milliseconds, so a client
//! that comes again at once finds the new page here too; for a slow origin nobody is kept.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use crate::connection::Connection;
use crate::service::Behind;

/// The longest that a close is put off.
const MOST: Duration = Duration::from_millis(40);

/// Waits for the end of `behind`, for [`MOST`] at most and no longer than the client is there.
pub(super) async fn wait(connection: &Connection, mut behind: Behind) {
    let over = poll_fn(|cx| match behind.as_mut().poll(cx) {
        Poll::Pending => connection.socket.poll_closed(cx),
        Poll::Ready(()) => Poll::Ready(()),
    });
    let _ = tokio::time::timeout(MOST, over).await;
}
