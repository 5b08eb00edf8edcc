//! Execution of a node's actions: the loop of the cluster's thread.
//!
//! ```text
//! publisher, administrators --input--> loop: node.handle, node.next_action
//! link: replies, lost connection --^     |-> commands -> link (one task for commands, one for reads that wait)
//! zones: purges in effect ---------^     |-> purges -> task that executes them in their order
//! ```

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use myriad_cluster::node::{
    ClockMs, ClusterAction, ClusterCommand, ClusterEvent, ClusterNode, CommandNumber, NodeStatus, PageRule,
    PurgeAnswer, PurgeTicket,
};
use myriad_cluster::record::{ClusterSecret, StartId};
use myriad_log::{ErrorLog, LogLevel};
use myriad_store::page::{AnnouncedPurge, ServerStatus};
use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::certificates::{CertificateLink, ClusterCertificates};
use super::input::{Input, clock_ms};
use super::limit_link::LimitConnections;
use super::limits::LimitSharing;
use super::link_error::LinkError;
use super::log_limiter::LogLimiter;
use super::options::ClusterOptions;
use super::page_link::PageConnections;
use super::server_memory::ServerMemory;
use super::server_url::ServerUrl;
use super::start_state::StartState;
use super::ticket_keys::ClusterTicketKeys;
use super::valkey::{CommandConnection, ValkeyLink};
use super::zone_tasks::{ZoneTask, run_zone_tasks};
use super::zones::ClusterZones;

/// Shortest and longest pause before another attempt to connect.
const RETRY_PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// Minimum time between two renewals of the status, in milliseconds.
const STATUS_INTERVAL_MS: u64 = 1000;

/// Resources of the loop.
pub(super) struct DriverResources {
    pub options: Arc<ClusterOptions>,
    pub secret: ClusterSecret,
    /// Random number of this process lifetime.
    pub start: StartId,
    pub zones: Arc<ClusterZones>,
    pub ticket_keys: Arc<ClusterTicketKeys>,
    pub certificates: Arc<ClusterCertificates>,
    pub limits: LimitSharing,
    pub log: ErrorLog,
    pub start_state: Arc<StartState>,
    /// Status of the node, renewed about once per second, and when the node has stopped.
    pub last_status: Arc<Mutex<Option<NodeStatus>>>,
    /// Valkey to which the node was connected last.
    pub server: Arc<Mutex<Option<ServerStatus>>>,
}

/// Command queues of the connections of the current link. Dropping them stops the tasks that execute the commands.
struct ActiveLink {
    commands: UnboundedSender<(CommandNumber, ClusterCommand)>,
    reads: UnboundedSender<(CommandNumber, ClusterCommand)>,
}

/// Task that is cancelled when this is dropped.
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
    /// Task of the connections for pages.
    page_connections: Option<AbortOnDrop>,
    /// Tasks of the exchange of ticket keys and certificates.
    secrets: Option<[AbortOnDrop; 2]>,
    /// Task of the connections for limits.
    limit_connections: Option<AbortOnDrop>,
    answers: HashMap<PurgeTicket, oneshot::Sender<PurgeAnswer>>,
    log_limiter: LogLimiter,
    /// Set while no connection exists, after the reason was logged once.
    has_logged_failure: bool,
    is_stopped: bool,
    /// Time at which the status is renewed next.
    status_due: ClockMs,
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
        page_connections: None,
        secrets: None,
        limit_connections: None,
        answers: HashMap::new(),
        log_limiter: LogLimiter::default(),
        has_logged_failure: false,
        is_stopped: false,
        status_due: 0,
    };
    driver.resources.zones.pages().open();
    driver.connect();
    loop {
        while let Some(action) = driver.node.next_action() {
            driver.execute(action);
        }
        if driver.is_stopped {
            break;
        }
        if clock_ms() >= driver.status_due {
            driver.renew_status();
        }
        match next_input(&mut queue, driver.node.next_deadline()).await {
            Some(input) => driver.handle(input),
            None => driver.node.handle(ClusterEvent::Tick, clock_ms()),
        }
    }
    driver.renew_status();
    driver.close_pages();
    driver.resources.zones.pages().set_rule(PageRule::default(), &[]);
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
                self.end_announcement(announced);
            }
            Input::Gap(announced) => {
                self.node.handle(ClusterEvent::Gap, clock_ms());
                for announced in announced {
                    self.end_announcement(announced);
                }
            }
            Input::Status(reply) => drop(reply.send(self.node.status(clock_ms()))),
            Input::Connected(number, link) if number == self.link_number => self.use_link(*link),
            Input::NotConnected(number, LinkError { why, .. }) if number == self.link_number => {
                self.log_failure(&format!("cannot connect ({why})"));
                self.node.handle(ClusterEvent::NotConnected, clock_ms());
            }
            Input::Reply(number, command, reply) if number == self.link_number => match reply {
                Ok(reply) => self.node.handle(ClusterEvent::Reply { command, reply }, clock_ms()),
                Err(LinkError { why, .. }) => {
                    self.log_failure(&format!("connection lost ({why})"));
                    self.node.handle(ClusterEvent::Disconnected, clock_ms());
                    self.connect();
                }
            },
            Input::Connected(..) | Input::NotConnected(..) | Input::Reply(..) => {}
        }
    }

    /// Executes all actions first, so that the rule for pages considers the announced purge.
    fn end_announcement(&mut self, announced: AnnouncedPurge) {
        while let Some(action) = self.node.next_action() {
            self.execute(action);
        }
        drop(announced);
    }

    fn renew_status(&mut self) {
        let now = clock_ms();
        self.status_due = now + STATUS_INTERVAL_MS;
        *self.resources.last_status.lock() = Some(self.node.status(now));
    }

    fn execute(&mut self, action: ClusterAction) {
        match action {
            ClusterAction::Send { command, what } => self.send(command, what),
            ClusterAction::Reconnect(_) => self.connect(),
            ClusterAction::Apply { batch, purges } => self.run(ZoneTask::Apply(batch, purges)),
            ClusterAction::ExpireEverything { batch, .. } => self.run(ZoneTask::ExpireEverything(batch)),
            ClusterAction::SetReadiness(readiness) => self.run(ZoneTask::SetReadiness(readiness)),
            ClusterAction::SetPageRule { rule, passed } => {
                self.resources.zones.pages().set_rule(rule, &passed);
            }
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
        self.secrets = None;
        self.limit_connections = None;
        self.close_pages();
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

    fn close_pages(&mut self) {
        self.page_connections = None;
        self.resources.zones.pages().clear_link(&owner(self.resources.start));
    }

    /// Starts the task of the connections for pages.
    fn open_pages(&mut self, server: ServerUrl) {
        let DriverResources { options, secret, start, zones, log, .. } = &self.resources;
        let connections = PageConnections {
            pages: Arc::clone(zones.pages()),
            options: Arc::clone(options),
            server,
            secret: secret.clone(),
            owner: owner(*start),
            log: log.clone(),
        };
        self.page_connections = Some(AbortOnDrop(tokio::spawn(connections.run())));
    }

    /// Stores the server for the status, and logs the warning about its memory unless it is that of the last connection.
    fn note_server(&self, server: &ServerUrl, memory: Option<ServerMemory>) {
        let warning = memory.as_ref().and_then(ServerMemory::warning);
        let (limit, policy) = memory.map(|ServerMemory { limit, policy }| (limit, policy)).unzip();
        let mut current = self.resources.server.lock();
        let last = current.replace(ServerStatus {
            url: server.to_string(),
            memory_limit: limit,
            memory_policy: policy,
            warning: warning.clone(),
        });
        drop(current);
        if let Some(warning) =
            warning.filter(|warning| last.is_none_or(|last| last.warning.as_ref() != Some(warning)))
        {
            let name = &self.resources.options.name;
            self.resources.log.write(LogLevel::Warn, None, format_args!("cluster \"{name}\": {warning}"));
        }
    }

    /// Starts the tasks of the exchange of ticket keys and certificates.
    fn exchange_secrets(&mut self, connection: &CommandConnection) {
        let DriverResources { ticket_keys, certificates, secret, log, .. } = &self.resources;
        let ticket_keys = Arc::clone(ticket_keys).run(connection.secrets(), secret.clone(), log.clone());
        let certificates = Arc::clone(certificates).run(CertificateLink {
            connection: connection.secrets(),
            secret: secret.clone(),
            runtime: tokio::runtime::Handle::current(),
            log: log.clone(),
        });
        self.secrets =
            Some([AbortOnDrop(tokio::spawn(ticket_keys)), AbortOnDrop(tokio::spawn(certificates))]);
    }

    /// Starts the task of the connections for limits.
    fn open_limits(&mut self, server: ServerUrl) {
        let DriverResources { options, limits, log, .. } = &self.resources;
        let (sharing, options) = (limits.clone(), Arc::clone(options));
        let connections = LimitConnections { sharing, options, server, log: log.clone() };
        self.limit_connections = Some(AbortOnDrop(tokio::spawn(connections.run())));
    }

    fn use_link(&mut self, link: ValkeyLink) {
        let ValkeyLink { server, commands, reads, memory } = link;
        self.note_server(&server, memory);
        self.exchange_secrets(&commands);
        let start = |connection| start_connection(self.link_number, connection, self.inputs.clone());
        self.link = Some(ActiveLink { commands: start(commands), reads: start(reads) });
        if std::mem::take(&mut self.has_logged_failure) {
            let name = &self.resources.options.name;
            let text = format_args!("cluster \"{name}\": connected to {server}");
            self.resources.log.write(LogLevel::Notice, None, text);
        }
        self.open_limits(server.clone());
        if self.resources.options.shares_pages {
            self.open_pages(server);
        }
        self.node.handle(ClusterEvent::Connected, clock_ms());
    }
}

/// Returns the text that identifies a process lifetime in tokens of leases.
fn owner(start: StartId) -> String {
    format!("{:032x}", u128::from_be_bytes(start.0))
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
