//! Task that opens the connections for pages, and opens them again when they are lost.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::select;
use myriad_cluster::record::ClusterSecret;
use myriad_log::ErrorLog;
use redis::aio::PubSub;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::options::ClusterOptions;
use super::pages::{PageLink, SharedPages};
use super::server_url::ServerUrl;
use super::valkey::connect_pages;

/// Pause before the connections are opened again.
const RETRY: Duration = Duration::from_secs(5);

/// Connections for pages of one node to one server.
pub(super) struct PageConnections {
    pub pages: Arc<SharedPages>,
    pub options: Arc<ClusterOptions>,
    /// Server that is the primary.
    pub server: ServerUrl,
    pub secret: ClusterSecret,
    /// Text that identifies this process in tokens of leases.
    pub owner: String,
    pub log: ErrorLog,
}

impl PageConnections {
    /// Connects, and reconnects after each failure, until the task is cancelled.
    pub(super) async fn run(self) {
        loop {
            match connect_pages(&self.options, &self.server).await {
                Ok((connection, released)) => {
                    let lost = Arc::new(Notify::new());
                    self.pages.set_link(PageLink {
                        connection,
                        secret: self.secret.clone(),
                        owner: self.owner.clone(),
                        runtime: Handle::current(),
                        log: self.log.clone(),
                        lost: Arc::clone(&lost),
                    });
                    let is_lost = std::pin::pin!(lost.notified());
                    select(std::pin::pin!(notify_waiting(released, &self.pages)), is_lost).await;
                    self.pages.clear_link(&self.owner);
                }
                Err(error) => self.pages.note_failure(&self.log, &error),
            }
            tokio::time::sleep(RETRY).await;
        }
    }
}

/// Wakes the requests that wait for a page, until the connection is lost.
async fn notify_waiting(mut released: PubSub, pages: &SharedPages) {
    let mut messages = released.on_message();
    while let Some(message) = messages.next().await {
        if let Some((result, name)) = message.get_payload_bytes().split_last() {
            pages.wake(&String::from_utf8_lossy(name), *result == b'+');
        }
    }
}
