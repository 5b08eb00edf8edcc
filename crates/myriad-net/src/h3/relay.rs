//! Datagrams received by another process than the owner of their connection, as happens during an upgrade of the
//! binary.
//!
//! The processes have copies of the same sockets, and a datagram read by one process is lost for the others. So only
//! one process, the reader, reads a listener's sockets: the newest serving process. Datagrams whose ID belongs to
//! another process are put into the inbox of that process, which responds through its own copy of the socket.
//!
//! ```text
//!   sockets -> the reader's hub -> ID of another process? -> Relay -> inbox of that process -> its Crossing -> its hub
//! ```
//!
//! A reader with a successor stops reading and notifies the successor by a message. A new process does not read before
//! that, so that its connections do not start before the earlier reader has registered it: the earlier reader would
//! respond to their datagrams with resets. The datagrams wait in the sockets meanwhile.
//!
//! The relay is limited by the size of the inbox; further datagrams are dropped, as on any network. A datagram is
//! forwarded once, never back, and responses go only to its source address.

mod message;

use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, sendmsg};

use super::cid::CidOwner;
use super::worker_inboxes::{Datagram, WorkerInboxes};
use crate::quic_process::{QuicProcess, Standing, listener_id};
pub use message::examine as examine_relayed;
use message::{LONGEST, RelayMessage};

/// Maximum time that a new process waits for the permission to read; then it reads without it, because the earlier
/// reader may hang.
const PATIENCE: Duration = Duration::from_secs(1);

/// State of the processes that share the sockets, and the inbox of this process.
#[derive(Debug)]
pub struct QuicRelay {
    state: Mutex<State>,
    max_wait: Duration,
}

impl Default for QuicRelay {
    fn default() -> Self {
        Self::with_max_wait(PATIENCE)
    }
}

#[derive(Debug, Default)]
struct State {
    /// This process; `None` if no other process exists.
    own: Option<QuicProcess>,
    others: Vec<OtherProcess>,
    /// Listeners of this process, by ID.
    listeners: HashMap<u64, RelayListener>,
    /// The inbox, until its thread is started.
    inbox: Option<Arc<OwnedFd>>,
}

#[derive(Debug)]
struct OtherProcess {
    process: QuicProcess,
    inbox: Arc<OwnedFd>,
}

#[derive(Debug)]
struct RelayListener {
    crossing: Arc<WorkerInboxes>,
    /// Set while this process reads its sockets.
    reads: Arc<AtomicBool>,
    /// Set if this process is the reader according to the state of all processes; `None` before the first check.
    is_reader: Option<bool>,
    /// Set if another process has accepted new connections since this process stopped to.
    had_successor: bool,
}

/// Result of a message to another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InboxSendResult {
    /// It is in the inbox, or was dropped because the inbox is full.
    Done,
    /// The process has closed its inbox.
    Gone,
}

impl QuicRelay {
    /// Creates a relay with this maximum waiting time for the permission to read.
    fn with_max_wait(patience: Duration) -> Self {
        Self { state: Mutex::default(), max_wait: patience }
    }

    /// Sets the current processes: this process, and the others with the sockets that write to their inboxes.
    pub fn set_processes(self: &Arc<Self>, own: QuicProcess, others: Vec<(QuicProcess, OwnedFd)>) {
        let mut state = self.state();
        // A process that leaves cannot return to another state.
        let leaves = state.own.as_ref().is_some_and(|known| known.standing == Standing::Leaving);
        let standing = if leaves { Standing::Leaving } else { own.standing };
        state.own = Some(QuicProcess { standing, ..own });
        let other = |(process, inbox)| OtherProcess { process, inbox: Arc::new(inbox) };
        state.others = others.into_iter().map(other).collect();
        self.select_readers(&mut state);
    }

    /// Stops accepting new connections in this process; another process reads the sockets from now on, if it exists.
    pub fn stop_accepting(self: &Arc<Self>) {
        let mut state = self.state();
        if let Some(own) = &mut state.own {
            own.standing = Standing::Leaving;
        }
        self.select_readers(&mut state);
    }

    /// Sets the inbox of this process, which [`QuicRelay::start_reading_inbox`] reads.
    pub fn set_inbox(&self, inbox: OwnedFd) {
        self.state().inbox = Some(Arc::new(inbox));
    }

    /// Starts a separate thread that reads the inbox, unless it is already being read.
    ///
    /// # Errors
    /// Fails if the thread cannot be started. The inbox stays open, because the other processes would otherwise treat
    /// this process as dead; the next call tries again.
    pub fn start_reading_inbox(self: &Arc<Self>) -> io::Result<()> {
        let Some(inbox) = self.state().inbox.clone() else { return Ok(()) };
        let relay = Arc::clone(self);
        std::thread::Builder::new().name("quic-inbox".to_owned()).spawn(move || relay.read(&inbox))?;
        self.state().inbox = None;
        Ok(())
    }

    /// Registers a listener of this process, whose workers use `crossing`. Returns its ID, and a flag that is set while
    /// this process reads its sockets.
    pub(super) fn listen(&self, name: &str, crossing: &Arc<WorkerInboxes>) -> (u64, Arc<AtomicBool>) {
        let id = listener_id(name);
        let mut state = self.state();
        let has_reader = state.others.iter().any(|other| other.process.may_read(id));
        let listener = state.listeners.entry(id).or_insert_with(|| RelayListener {
            crossing: Arc::clone(crossing),
            reads: Arc::new(AtomicBool::new(!has_reader)),
            is_reader: None,
            had_successor: false,
        });
        (id, Arc::clone(&listener.reads))
    }

    /// Forwards a datagram to the process of its connection. Returns `false` if that process does not exist.
    pub(super) fn forward(self: &Arc<Self>, listener: u64, owner: CidOwner, datagram: &Datagram) -> bool {
        let other = |other: &&OtherProcess| other.process.number == owner.process;
        let Some(inbox) = self.state().others.iter().find(other).map(|other| Arc::clone(&other.inbox)) else {
            return false;
        };
        let head = message::datagram_header(listener, owner.worker, datagram);
        if send(&inbox, &[IoSlice::new(&head), IoSlice::new(&datagram.bytes)]) == InboxSendResult::Done {
            return true;
        }
        let mut state = self.state();
        state.others.retain(|other| !Arc::ptr_eq(&other.inbox, &inbox));
        self.select_readers(&mut state);
        false
    }

    /// Returns whether another process accepts new connections of a listener, or has accepted them since this process
    /// left.
    pub(super) fn has_successor(&self, listener: u64) -> bool {
        let state = self.state();
        state.others.iter().any(|other| other.accepts_new(listener))
            || state.listeners.get(&listener).is_some_and(|listener| listener.had_successor)
    }

    /// Reads the inbox until all writers have closed it.
    fn read(self: &Arc<Self>, inbox: &OwnedFd) {
        let mut buffer = vec![0; LONGEST];
        loop {
            match retry_on_intr(|| recv(inbox, &mut buffer[..], RecvFlags::empty())) {
                Ok((_, count @ 1..)) => self.process_message(buffer.get(..count).unwrap_or_default()),
                Ok(_) | Err(_) => return,
            }
        }
    }

    /// Processes a message; malformed messages are dropped.
    fn process_message(&self, message: &[u8]) {
        let state = self.state();
        match RelayMessage::parse(message) {
            Some(RelayMessage::Datagram { listener, worker, datagram }) => {
                if let Some(listener) = state.listeners.get(&listener) {
                    listener.crossing.enqueue(worker, datagram);
                }
            }
            Some(RelayMessage::Read { listener }) => {
                if let Some(listener) = state.listeners.get(&listener) {
                    listener.begin_to_read();
                }
            }
            None => {}
        }
    }

    /// Selects the reader of each listener according to the current state.
    fn select_readers(self: &Arc<Self>, state: &mut State) {
        let State { own: Some(own), others, listeners, .. } = state else { return };
        if own.standing == Standing::Starting {
            return;
        }
        for (id, listener) in listeners {
            // A listener that is no longer configured is still read while it has connections.
            let own_rank = (own.standing_for(*id).unwrap_or(Standing::Leaving), own.rank);
            listener.had_successor = own_rank.0 == Standing::Leaving
                && (listener.had_successor || others.iter().any(|other| other.accepts_new(*id)));
            let rank = |other: &&OtherProcess| {
                other.process.standing_for(*id).map(|standing| (standing, other.process.rank))
            };
            let successor = others.iter().filter(|other| other.process.may_read(*id)).max_by_key(rank);
            let successor = successor.filter(|heir| rank(heir).is_some_and(|rank| rank > own_rank));
            let before = listener.is_reader.replace(successor.is_none());
            match successor {
                Some(heir) if listener.reads.swap(false, Ordering::AcqRel) => {
                    send(&heir.inbox, &[IoSlice::new(&message::read(*id))]);
                }
                // A process that was the reader before is registered at all others.
                None if before == Some(false) || !others.iter().any(|other| other.process.may_read(*id)) => {
                    listener.begin_to_read();
                }
                None if before.is_none() && !self.read_after_max_wait(*id) => listener.begin_to_read(),
                Some(_) | None => {}
            }
        }
    }

    /// Starts to read a listener's sockets after the maximum waiting time, even without permission. Returns `false` if
    /// the thread cannot be started.
    fn read_after_max_wait(self: &Arc<Self>, listener: u64) -> bool {
        let relay = Arc::downgrade(self);
        let patience = self.max_wait;
        let waiting = move || {
            std::thread::sleep(patience);
            let Some(relay) = relay.upgrade() else { return };
            let state = relay.state();
            if let Some(listener) = state.listeners.get(&listener).filter(|it| it.is_reader == Some(true)) {
                listener.begin_to_read();
            }
        };
        std::thread::Builder::new().name("quic-reader".to_owned()).spawn(waiting).is_ok()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QuicProcess {
    /// Returns the state regarding new connections of a listener; `None` if the process does not have that listener.
    fn standing_for(&self, listener: u64) -> Option<Standing> {
        self.listeners.contains(&listener).then_some(self.standing)
    }

    /// Returns whether the process may read a listener's sockets.
    fn may_read(&self, listener: u64) -> bool {
        self.standing_for(listener).is_some_and(|standing| standing != Standing::Starting)
    }
}

impl OtherProcess {
    /// Returns whether the process accepts new connections of a listener.
    fn accepts_new(&self, listener: u64) -> bool {
        self.process.standing_for(listener) == Some(Standing::Serving)
    }
}

impl RelayListener {
    fn begin_to_read(&self) {
        if !self.reads.swap(true, Ordering::AcqRel) {
            self.crossing.wake_all();
        }
    }
}

/// Sends a message to an inbox without waiting.
fn send(inbox: &OwnedFd, parts: &[IoSlice<'_>]) -> InboxSendResult {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let sent = retry_on_intr(|| sendmsg(inbox, parts, &mut SendAncillaryBuffer::default(), flags));
    match sent {
        Err(Errno::PIPE | Errno::CONNREFUSED | Errno::CONNRESET | Errno::NOTCONN) => InboxSendResult::Gone,
        Ok(_) | Err(_) => InboxSendResult::Done,
    }
}

#[cfg(test)]
mod tests;
