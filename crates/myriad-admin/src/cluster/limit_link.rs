//! Task that publishes the use of limits on this node, and receives that of other nodes.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use myriad_cluster::limits::{HEARTBEAT_MS, INTERVAL_MS};
use myriad_log::{ErrorLog, LogLevel};
use redis::aio::{MultiplexedConnection, PubSub};
use redis::cmd;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::input::clock_ms;
use super::limits::LimitSharing;
use super::link_error::LinkError;
use super::options::ClusterOptions;
use super::server_url::ServerUrl;
use super::valkey::{KeyNames, connect_limits};

/// Pause before the connections are opened again.
const RETRY: Duration = Duration::from_secs(1);
/// Maximum time without a message: a node receives its own messages, too, at least one per heartbeat.
const MAX_SILENCE: Duration = Duration::from_millis(5 * HEARTBEAT_MS);
/// Minimum time between two log messages about refused messages, in milliseconds.
const LOG_INTERVAL_MS: u64 = 10_000;

/// Connections for limits of one node to one server.
pub(super) struct LimitConnections {
    pub sharing: LimitSharing,
    pub options: Arc<ClusterOptions>,
    /// Server that is the primary.
    pub server: ServerUrl,
    pub log: ErrorLog,
}

impl LimitConnections {
    /// Connects while limits are shared, and reconnects after each failure, until the task is cancelled.
    pub(super) async fn run(self) {
        loop {
            self.sharing.limits.wait_for_zones().await;
            if let Err(error) = self.exchange_usage().await {
                self.note_failure(&error);
                sleep(RETRY).await;
            }
        }
    }

    /// Exchanges messages until no limits are shared.
    async fn exchange_usage(&self) -> Result<(), LinkError> {
        let (connection, messages) = connect_limits(&self.options, &self.server).await?;
        let LimitSharing { limits, exchange } = &self.sharing;
        exchange.lock().set_database(self.server.database);
        limits.discard_usage();
        let sending = pin!(self.send(connection));
        let receiving = pin!(self.receive(messages));
        match select(sending, receiving).await {
            Either::Left((result, _)) => result,
            Either::Right((Err(error), _)) => Err(error),
        }
    }

    /// Publishes messages until no limits are shared.
    async fn send(&self, mut connection: MultiplexedConnection) -> Result<(), LinkError> {
        let limits = &self.sharing.limits;
        let channel = KeyNames::limits_channel(&self.options.name, &self.server);
        let mut ticks = interval(Duration::from_millis(INTERVAL_MS));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while limits.has_zones() {
            ticks.tick().await;
            let Some(message) = limits.message(&self.sharing.exchange, clock_ms()) else { continue };
            cmd("PUBLISH").arg(&channel).arg(message).exec_async(&mut connection).await?;
            limits.counters.sent.fetch_add(1, Relaxed);
            if limits.has_logged_failure.swap(false, Relaxed) {
                let text = format_args!("cluster: limits apply to all nodes together again");
                self.log.write(LogLevel::Notice, None, text);
            }
        }
        Ok(())
    }

    /// Receives messages until the connection is lost.
    async fn receive(&self, mut messages: PubSub) -> Result<Infallible, LinkError> {
        let mut logged_at = None;
        let mut messages = messages.on_message();
        loop {
            let Ok(Some(message)) = timeout(MAX_SILENCE, messages.next()).await else {
                return Err(LinkError::new("the connection for messages is lost"));
            };
            let now = clock_ms();
            let bytes = message.get_payload_bytes();
            if let Err(error) = self.sharing.limits.receive(&self.sharing.exchange, bytes, now) {
                let is_new = logged_at.is_none_or(|last| now.saturating_sub(last) > LOG_INTERVAL_MS);
                if is_new {
                    logged_at = Some(now);
                    let text = format_args!("cluster: a message about limits is refused ({error})");
                    self.log.write(LogLevel::Error, None, text);
                }
            }
        }
    }

    fn note_failure(&self, error: &LinkError) {
        let limits = &self.sharing.limits;
        limits.counters.failed.fetch_add(1, Relaxed);
        if !limits.has_logged_failure.swap(true, Relaxed) {
            let why = &error.why;
            let text = format_args!(
                "cluster: the use of limits cannot be exchanged ({why}); until it is possible, limit_req and limit_conn apply to each node \
                 separately. If Valkey refuses a command, permit those that docs/cluster.md lists"
            );
            self.log.write(LogLevel::Error, None, text);
        }
    }
}
