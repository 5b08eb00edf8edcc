//! Publisher of this node's purges. It continues to exist while a reload replaces the node.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use myriad_cluster::node::{ClusterEvent, NodeStatus, PurgeAnswer, PurgeTicket};
use myriad_cluster::record::NodeName;
use myriad_store::page::{
    AnnouncedPurge, ClusterPages, PublishedPurge, PublisherStatus, PurgePublisher, PurgeReceipts,
    ServerStatus,
};
use parking_lot::Mutex;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::exchanged_state::ExchangedState;
use super::input::Input;
use super::options::ClusterOptions;
use super::status::publisher_status;

/// Maximum time for the status of the node.
const STATUS_TIMEOUT: Duration = Duration::from_secs(2);

/// Publisher of this node's purges, with a handle of the node that currently sends them.
pub(super) struct ClusterPublisher {
    state: Arc<Mutex<PublisherState>>,
    exchanged: ExchangedState,
}

#[derive(Default)]
struct PublisherState {
    node: CurrentNode,
    /// Newest handle of a node; `None` before the first one.
    handle: Option<NodeHandle>,
    last_ticket: u64,
}

/// ```text
///   Closed ── prepare ──> Absent ── start ──> Running
///     ^                    │  ^── suspend ──────┤
///     └────── close ───────┴────────────────────┘
/// ```
#[derive(Default)]
enum CurrentNode {
    /// No node is running. The next one, which is prepared, receives these inputs.
    Absent(Vec<Input>),
    /// The node receives its inputs at the current handle.
    Running,
    /// The server has no cluster or is shutting down: no node is prepared.
    #[default]
    Closed,
}

/// Handle of a running node.
#[derive(Clone)]
pub(super) struct NodeHandle {
    pub inputs: UnboundedSender<Input>,
    pub options: Arc<ClusterOptions>,
    /// Status of the node, renewed about once per second.
    pub last_status: Arc<Mutex<Option<NodeStatus>>>,
    /// Valkey to which the node was connected last; `None` before the first connection.
    pub server: Arc<Mutex<Option<ServerStatus>>>,
}

impl PublisherState {
    /// Sends an input to the node, or stores it for the next one.
    fn send(&mut self, input: Input) {
        match (&mut self.node, &self.handle) {
            (CurrentNode::Absent(waiting), _) => waiting.push(input),
            // Fails if the thread has panicked.
            (CurrentNode::Running, Some(handle)) => drop(handle.inputs.send(input)),
            (CurrentNode::Running, None) | (CurrentNode::Closed, _) => {}
        }
    }
}

impl ClusterPublisher {
    /// Creates a publisher that announces purges to the exchange of pages, and reports the whole `exchanged` state.
    pub(super) fn new(exchanged: ExchangedState) -> Self {
        Self { state: Arc::default(), exchanged }
    }

    /// Stores purges from now on for the first node of a cluster, which has this handle.
    pub(super) fn prepare(&self, handle: NodeHandle) {
        let mut state = self.state.lock();
        state.node = CurrentNode::Absent(Vec::new());
        state.handle = Some(handle);
    }

    /// Sends purges to this node from now on, beginning with those that were published since the last one was
    /// suspended.
    pub(super) fn start(&self, handle: NodeHandle) {
        let mut state = self.state.lock();
        if let CurrentNode::Absent(waiting) = std::mem::replace(&mut state.node, CurrentNode::Running) {
            for input in waiting {
                // Fails if the thread has panicked.
                let _ = handle.inputs.send(input);
            }
        }
        state.handle = Some(handle);
    }

    /// Stores purges from now on for the next node. A node that runs has received all earlier ones.
    pub(super) fn suspend(&self) {
        let mut state = self.state.lock();
        if matches!(state.node, CurrentNode::Running) {
            state.node = CurrentNode::Absent(Vec::new());
        }
    }

    /// Refuses purges from now on. A node that runs has received all earlier ones; otherwise, those that wait are dropped.
    pub(super) fn close(&self) {
        self.exchanged.pages.close();
        self.state.lock().node = CurrentNode::Closed;
    }

    fn handle(&self) -> Option<NodeHandle> {
        self.state.lock().handle.clone()
    }

    fn status_of(&self, handle: &NodeHandle, status: &NodeStatus) -> PublisherStatus {
        let server = handle.server.lock().clone();
        publisher_status(&handle.options, status, server, &self.exchanged)
    }

    /// Returns the status of the node; `None` if it does not reply.
    fn node_status(handle: &NodeHandle) -> Option<NodeStatus> {
        let (reply, status) = channel();
        handle.inputs.send(Input::Status(reply)).ok()?;
        status.recv_timeout(STATUS_TIMEOUT).ok()
    }
}

impl PurgePublisher for ClusterPublisher {
    fn announce(&self, zone: &str, labels: Option<&[u64]>) -> AnnouncedPurge {
        self.exchanged.pages.announce(zone, labels)
    }

    fn pages(&self) -> Option<Arc<dyn ClusterPages>> {
        let handle = self.handle()?;
        handle.options.shares_pages.then(|| Arc::clone(&self.exchanged.pages) as Arc<dyn ClusterPages>)
    }

    fn publish(&self, zone: &str, purge: Vec<u8>, announced: AnnouncedPurge) -> Option<PublishedPurge> {
        let mut state = self.state.lock();
        if matches!(state.node, CurrentNode::Closed) {
            return None;
        }
        let handle = state.handle.clone()?;
        state.last_ticket += 1;
        let ticket = PurgeTicket(state.last_ticket);
        let wait_ms = handle.options.receipt_timeout.as_millis() as u64;
        let event = ClusterEvent::Purge { ticket, zone: zone.to_owned(), body: purge, wait_ms };
        let (answer, waiting) = oneshot::channel();
        state.send(Input::Purge(event, ticket, answer, announced));
        drop(state);
        let shared = Arc::clone(&self.state);
        Some(PublishedPurge {
            saved: Box::new(move |is_saved| {
                let result = if is_saved { ClusterEvent::PurgeDurable } else { ClusterEvent::PurgeNotSaved };
                shared.lock().send(Input::Event(result(ticket)));
            }),
            receipts: Box::pin(async move {
                match waiting.await {
                    Ok(answer) => receipts(&handle.options.node, &answer),
                    Err(_) => no_receipts(&handle),
                }
            }),
        })
    }

    fn status(&self) -> Option<PublisherStatus> {
        let handle = self.handle()?;
        Some(self.status_of(&handle, &Self::node_status(&handle)?))
    }

    fn last_status(&self) -> Option<PublisherStatus> {
        let handle = self.handle()?;
        let status = handle.last_status.lock();
        status.as_ref().map(|status| self.status_of(&handle, status))
    }

    fn forget_node(&self, node: &str) -> Result<(), String> {
        let name = NodeName::new(node).map_err(|error| format!("invalid node \"{node}\": {error}"))?;
        let status = self.handle().and_then(|handle| Self::node_status(&handle));
        let status = status.ok_or("the node of the cluster does not reply")?;
        if !status.members_known {
            return Err(
                "this node has not read the list of nodes from Valkey; try again when it is connected"
                    .to_owned(),
            );
        }
        if status.members.iter().all(|member| member.node != name) {
            let names: Vec<String> = status.members.iter().map(|member| member.node.to_string()).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(format!("the cluster has no other node \"{node}\"; its other nodes: {known}"));
        }
        self.state.lock().send(Input::Event(ClusterEvent::Forget(name)));
        Ok(())
    }
}

/// Returns the receipts of a purge that is in effect on this node.
fn receipts(own_node: &str, answer: &PurgeAnswer) -> PurgeReceipts {
    let mut applied: BTreeSet<String> = answer.applied.iter().map(ToString::to_string).collect();
    applied.insert(own_node.to_owned());
    PurgeReceipts {
        applied,
        missing: answer.missing.iter().map(|missing| missing.node.to_string()).collect(),
        are_nodes_known: answer.members_known,
        is_sent: answer.is_in_log,
        elapsed: Duration::from_millis(answer.elapsed_ms),
    }
}

/// Returns the receipts of a purge whose node has stopped. The purge is sent by the next node, which does not know
/// the requests that wait for its receipts.
fn no_receipts(handle: &NodeHandle) -> PurgeReceipts {
    let status = handle.last_status.lock();
    let members = status.iter().flat_map(|status| &status.members);
    PurgeReceipts {
        applied: BTreeSet::from([handle.options.node.clone()]),
        missing: members.map(|member| member.node.to_string()).collect(),
        are_nodes_known: status.as_ref().is_some_and(|status| status.members_known),
        is_sent: false,
        elapsed: Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use crate::cluster::settings::PartitionPolicy;

    fn node() -> (NodeHandle, UnboundedReceiver<Input>) {
        let (inputs, queue) = unbounded_channel();
        let options = ClusterOptions {
            name: "shop".to_owned(),
            node: "web1".to_owned(),
            hostname: String::new(),
            servers: Vec::new(),
            credentials: None,
            sentinel_password: None,
            trusted_certificates: None,
            secret: Vec::new().into(),
            partition: PartitionPolicy::Strict,
            receipt_timeout: Duration::ZERO,
            shares_pages: false,
        };
        let handle = NodeHandle {
            inputs,
            options: Arc::new(options),
            last_status: Arc::default(),
            server: Arc::default(),
        };
        (handle, queue)
    }

    fn publish(publisher: &ClusterPublisher, zone: &str) -> Option<PublishedPurge> {
        publisher.publish(zone, Vec::new(), publisher.announce(zone, None))
    }

    /// Returns the zones of the purges that a node has received, and the number of its other inputs.
    fn received(queue: &mut UnboundedReceiver<Input>) -> (Vec<String>, usize) {
        let (mut zones, mut others) = (Vec::new(), 0);
        while let Ok(input) = queue.try_recv() {
            match input {
                Input::Purge(ClusterEvent::Purge { zone, .. }, ..) => zones.push(zone),
                _ => others += 1,
            }
        }
        (zones, others)
    }

    #[test]
    fn purge_between_two_nodes_is_sent_by_the_next_one_and_refused_after_the_last() {
        let publisher = ClusterPublisher::new(ExchangedState::default());
        let ((first, mut first_queue), (second, mut second_queue)) = (node(), node());
        publisher.start(first);
        assert!(publish(&publisher, "a").is_some());
        publisher.suspend();
        let between = publish(&publisher, "b").expect("published");
        (between.saved)(true);
        assert_eq!(received(&mut first_queue), (vec!["a".to_owned()], 0));
        publisher.start(second);
        assert!(publish(&publisher, "c").is_some());
        publisher.close();
        assert!(publish(&publisher, "d").is_none());
        assert_eq!(received(&mut second_queue), (vec!["b".to_owned(), "c".to_owned()], 1));
    }

    #[test]
    fn purge_before_the_start_of_the_first_node_is_sent_by_it() {
        let publisher = ClusterPublisher::new(ExchangedState::default());
        assert!(publish(&publisher, "a").is_none(), "no node is prepared");
        let (first, mut queue) = node();
        publisher.prepare(first.clone());
        assert!(publish(&publisher, "b").is_some());
        publisher.suspend();
        publisher.start(first);
        assert_eq!(received(&mut queue), (vec!["b".to_owned()], 0));
    }
}
