//! Execution of a node's actions: the loop of the cluster's thread.
//!
//! ```text
//! publisher, administrators --input--> loop: node.handle, node.next_action
//! link: replies, lost connection --^     |-> commands -> link (one task for commands, one for reads that wait)
//! zones: purges in effect ---------^     |-> purges -> task that executes them in their order
//! ```

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::StreamExt;
use myriad_cluster::node::{
    ClockMs, ClusterAction, ClusterCommand, ClusterEvent, ClusterNode, CommandNumber, NodeStatus, PageRule,
    PurgeAnswer, PurgeTicket,
};
use myriad_cluster::record::{ClusterSecret, StartId};
use myriad_log::{ErrorLog, LogLevel};
use parking_lot::Mutex;
use redis::aio::PubSub;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::input::{Input, clock_ms};
use super::link_error::LinkError;
use super::log_limiter::LogLimiter;
use super::options::ClusterOptions;
use super::page_commands::PageConnection;
use super::pages::{PageLink, SharedPages};
use super::start_state::StartState;
use super::valkey::{CommandConnection, ValkeyLink};
use super::zone_tasks::{ZoneTask, run_zone_tasks};
use super::zones::ClusterZones;

/// Shortest and longest pause before another attempt to connect.
const RETRY_PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// Minimum time between two openings of connections because those for pages are lost, in milliseconds.
const PAGES_RETRY_MS: u64 = 5000;

/// Minimum time between two renewals of the status, in milliseconds.
const STATUS_INTERVAL_MS: u64 = 1000;

/// Resources of the loop.
pub(super) struct DriverResources {
    pub options: Arc<ClusterOptions>,
    pub secret: ClusterSecret,
    /// Random number of this process lifetime.
    pub start: StartId,
    pub zones: Arc<ClusterZones>,
    pub log: ErrorLog,
    pub start_state: Arc<StartState>,
    /// Status of the node, renewed about once per second.
    pub last_status: Arc<Mutex<Option<NodeStatus>>>,
}

/// Command queues of the connections of the current link. Dropping them stops the tasks that execute the commands.
struct ActiveLink {
    commands: UnboundedSender<(CommandNumber, ClusterCommand)>,
    reads: UnboundedSender<(CommandNumber, ClusterCommand)>,
}

/// Task that ends when this is dropped.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// State of the loop.
struct ClusterDriver {
    node: ClusterNode,
    resources: DriverResources,
    inputs: UnboundedSender<Input>,
    zone_tasks: UnboundedSender<ZoneTask>,
    /// Number of the current link; messages of earlier ones are ignored.
    link_number: u64,
    link: Option<ActiveLink>,
    /// Task that wakes requests which wait for pages of other nodes.
    notifications: Option<AbortOnDrop>,
    answers: HashMap<PurgeTicket, oneshot::Sender<PurgeAnswer>>,
    log_limiter: LogLimiter,
    /// Set while no connection exists, after the reason was logged once.
    has_logged_failure: bool,
    is_stopped: bool,
    /// Time at which the status is renewed next.
    status_due: ClockMs,
    /// Time from which a loss of the connections for pages opens new connections.
    pages_due: ClockMs,
}

/// Runs the node until it has stopped. `inputs` is a sender of the queue `queue`.
pub(super) async fn drive(
    node: ClusterNode,
    resources: DriverResources,
    inputs: UnboundedSender<Input>,
    mut queue: UnboundedReceiver<Input>,
) {
    let (zone_tasks, tasks) = unbounded_channel();
    let running = tokio::spawn(run_zone_tasks(
        Arc::clone(&resources.zones),
        resources.log.clone(),
        tasks,
        inputs.clone(),
        Arc::clone(&resources.start_state),
    ));
    let mut driver = ClusterDriver {
        node,
        resources,
        inputs,
        zone_tasks,
        link_number: 0,
        link: None,
        notifications: None,
        answers: HashMap::new(),
        log_limiter: LogLimiter::default(),
        has_logged_failure: false,
        is_stopped: false,
        status_due: 0,
        pages_due: 0,
    };
    driver.connect();
    loop {
        while let Some(action) = driver.node.next_action() {
            driver.execute(action);
        }
        if driver.is_stopped {
            break;
        }
        driver.renew_status();
        match next_input(&mut queue, driver.node.next_deadline()).await {
            Some(input) => driver.handle(input),
            None => driver.node.handle(ClusterEvent::Tick, clock_ms()),
        }
    }
    driver.resources.zones.pages().set_link(None);
    driver.resources.zones.pages().set_rule(PageRule::default());
    drop(driver);
    // The task queue is closed: the task executes the queued purges and returns.
    let _ = running.await;
}

/// Returns the next input; `None` if the deadline, a time of the node's clock, is reached before. The queue is never
/// closed, because the loop has a sender of it.
async fn next_input(queue: &mut UnboundedReceiver<Input>, deadline: Option<ClockMs>) -> Option<Input> {
    match deadline {
        None => queue.recv().await,
        Some(deadline) => {
            let wait = Duration::from_millis(deadline.saturating_sub(clock_ms()));
            tokio::time::timeout(wait, queue.recv()).await.ok().flatten()
        }
    }
}

impl ClusterDriver {
    fn handle(&mut self, input: Input) {
        match input {
            Input::Event(event) => self.node.handle(event, clock_ms()),
            Input::Purge(event, ticket, answer, announced) => {
                self.answers.insert(ticket, answer);
                self.node.handle(event, clock_ms());
                // The rule for pages that the node has now considers the purge.
                while let Some(action) = self.node.next_action() {
                    self.execute(action);
                }
                drop(announced);
            }
            Input::Status(reply) => drop(reply.send(self.node.status(clock_ms()))),
            Input::Connected(number, link) if number == self.link_number => self.use_link(*link),
            Input::NotConnected(number, LinkError { why, .. }) if number == self.link_number => {
                self.log_failure(&format!("cannot connect ({why})"));
            }
            Input::Reply(number, command, reply) if number == self.link_number => match reply {
                Ok(reply) => self.node.handle(ClusterEvent::Reply { command, reply }, clock_ms()),
                Err(LinkError { why, .. }) => {
                    self.log_failure(&format!("connection lost ({why})"));
                    self.node.handle(ClusterEvent::Disconnected, clock_ms());
                    self.connect();
                }
            },
            Input::PagesLost(number) if number == self.link_number => self.connect_pages_again(),
            Input::Connected(..) | Input::NotConnected(..) | Input::Reply(..) | Input::PagesLost(_) => {}
        }
    }

    fn renew_status(&mut self) {
        let now = clock_ms();
        if now >= self.status_due {
            self.status_due = now + STATUS_INTERVAL_MS;
            *self.resources.last_status.lock() = Some(self.node.status(now));
        }
    }

    fn execute(&mut self, action: ClusterAction) {
        match action {
            ClusterAction::Send { command, what } => self.send(command, what),
            ClusterAction::Reconnect(_) => self.connect(),
            ClusterAction::Apply { batch, purges } => self.run(ZoneTask::Apply(batch, purges)),
            ClusterAction::ExpireEverything { batch, .. } => self.run(ZoneTask::ExpireEverything(batch)),
            ClusterAction::SetReadiness(readiness) => self.run(ZoneTask::SetReadiness(readiness)),
            ClusterAction::SetPageRule(rule) => self.resources.zones.pages().set_rule(rule),
            ClusterAction::Answer { ticket, answer } => {
                if let Some(waiting) = self.answers.remove(&ticket) {
                    // Fails if nothing waits for the answer.
                    let _ = waiting.send(answer);
                }
            }
            ClusterAction::StorePosition { number, contents } => {
                let DriverResources { options, zones, .. } = &self.resources;
                let (file, contents) = zones.stored_position(&options.name, contents);
                let inputs = self.inputs.clone();
                tokio::task::spawn_blocking(move || {
                    let is_stored = file.is_none_or(|file| file.write(&contents).is_ok());
                    let _ = inputs.send(Input::Event(ClusterEvent::PositionStored { number, is_stored }));
                });
            }
            ClusterAction::Log(message) => {
                let level = if message.is_notice() { LogLevel::Notice } else { LogLevel::Error };
                self.log_limiter.write(&self.resources.log, level, &message.to_string(), clock_ms());
            }
            ClusterAction::Stopped => self.is_stopped = true,
        }
    }

    fn run(&self, task: ZoneTask) {
        // Fails only if the receiving task has panicked; `task` is then not executed.
        let _ = self.zone_tasks.send(task);
    }

    /// Sends a command; without a connection, the command gets no reply.
    fn send(&mut self, number: CommandNumber, command: ClusterCommand) {
        let Some(link) = &self.link else { return };
        let waits = matches!(command, ClusterCommand::Read { wait_ms: 1.., .. });
        let queue = if waits { &link.reads } else { &link.commands };
        // Fails if the connection is lost, which the task reports.
        let _ = queue.send((number, command));
    }

    fn log_failure(&mut self, why: &str) {
        if !std::mem::replace(&mut self.has_logged_failure, true) {
            let name = &self.resources.options.name;
            let text = format_args!(
                "cluster \"{name}\": {why}; purges reach only this node until the connection is established"
            );
            self.resources.log.write(LogLevel::Error, None, text);
        }
    }

    /// Closes the current connections, and starts to connect until it succeeds.
    fn connect(&mut self) {
        self.link = None;
        self.notifications = None;
        self.resources.zones.pages().set_link(None);
        self.link_number += 1;
        let (number, inputs) = (self.link_number, self.inputs.clone());
        let options = Arc::clone(&self.resources.options);
        tokio::spawn(async move {
            let mut pause = RETRY_PAUSES.0;
            loop {
                let input = match ValkeyLink::connect(&options).await {
                    Ok(link) => Input::Connected(number, Box::new(link)),
                    Err(why) => Input::NotConnected(number, why),
                };
                let is_connected = matches!(input, Input::Connected(..));
                if inputs.send(input).is_err() || is_connected {
                    return;
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(RETRY_PAUSES.1);
            }
        });
    }

    fn use_pages(&mut self, connection: PageConnection, ended: PubSub) {
        let pages = self.resources.zones.pages();
        let (number, inputs, shared) = (self.link_number, self.inputs.clone(), Arc::downgrade(pages));
        let lost = move || {
            // Fails if the loop has ended.
            let _ = inputs.send(Input::PagesLost(number));
        };
        let notice = lost.clone();
        let task = tokio::spawn(async move {
            notify_waiting(ended, shared).await;
            notice();
        });
        pages.set_link(Some(PageLink {
            connection,
            secret: self.resources.secret.clone(),
            owner: format!("{:032x}", u128::from_be_bytes(self.resources.start.0)),
            runtime: tokio::runtime::Handle::current(),
            log: self.resources.log.clone(),
            lost: Arc::new(lost),
        }));
        self.notifications = Some(AbortOnDrop(task));
    }

    /// Opens all connections again, because those for pages are lost; at most once in [`PAGES_RETRY_MS`].
    fn connect_pages_again(&mut self) {
        let now = clock_ms();
        if now >= self.pages_due {
            self.pages_due = now + PAGES_RETRY_MS;
            self.node.handle(ClusterEvent::Disconnected, now);
            self.connect();
        }
    }

    fn use_link(&mut self, link: ValkeyLink) {
        let ValkeyLink { address, commands, reads, pages } = link;
        match pages {
            None => {}
            Some(Ok((connection, ended))) => self.use_pages(connection, ended),
            Some(Err(LinkError { why, .. })) => {
                let text = format!(
                    "pages cannot be exchanged ({why}); this node fetches its pages itself. Permit the commands of \
                     docs/cluster.md, or write \"pages off;\" in \"cluster\""
                );
                self.log_limiter.write(&self.resources.log, LogLevel::Error, &text, clock_ms());
            }
        }
        let start = |connection| start_connection(self.link_number, connection, self.inputs.clone());
        self.link = Some(ActiveLink { commands: start(commands), reads: start(reads) });
        if std::mem::take(&mut self.has_logged_failure) {
            let name = &self.resources.options.name;
            let text = format_args!("cluster \"{name}\": connected to {address}");
            self.resources.log.write(LogLevel::Notice, None, text);
        }
        self.node.handle(ClusterEvent::Connected, clock_ms());
    }
}

/// Wakes the requests that wait for a page, until the connection or `pages` ends.
async fn notify_waiting(mut ended: PubSub, pages: Weak<SharedPages>) {
    let mut messages = ended.on_message();
    while let Some(message) = messages.next().await {
        let Some(pages) = pages.upgrade() else { return };
        if let Some((result, name)) = message.get_payload_bytes().split_last() {
            pages.wake(&String::from_utf8_lossy(name), *result == b'+');
        }
    }
}

/// Starts a task that executes the commands of a queue one after the other. The task stops when the connection is lost,
/// when the returned sender is dropped, or when the receiver of `inputs` is dropped.
fn start_connection(
    link: u64,
    mut connection: CommandConnection,
    inputs: UnboundedSender<Input>,
) -> UnboundedSender<(CommandNumber, ClusterCommand)> {
    let (sender, mut queue) = unbounded_channel();
    tokio::spawn(async move {
        while let Some((number, command)) = queue.recv().await {
            let reply = connection.execute(&command).await;
            let is_lost = reply.is_err();
            if inputs.send(Input::Reply(link, number, reply)).is_err() || is_lost {
                return;
            }
        }
    });
    sender
}
