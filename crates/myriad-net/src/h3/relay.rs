//! Relay of QUIC datagrams between processes during an upgrade of the binary: a process can receive datagrams of
//! connections that belong to another.
//!
//! The processes share the sockets, and a datagram read by one process is lost for the others. Therefore only one
//! process reads the sockets of a listener (the reader): the newest serving process. It sends datagrams whose
//! connection ID belongs to another process to the inbox of that process, which responds through its own copy of the
//! socket.
//!
//! ```text
//!   sockets -> reader's listener -> ID of another process? -> QuicRelay -> inbox of the owner -> its WorkerInboxes
//! ```
//!
//! A reader that has a successor stops reading and sends the successor a permission message. A new process waits for
//! this message before it reads: otherwise the earlier reader would not know its connections yet and would answer their
//! datagrams with resets. The datagrams wait in the sockets meanwhile.
//!
//! A full inbox drops datagrams, as any network may. A datagram is forwarded at most once, and responses go only to its
//! source address.

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

/// Maximum time that a new process waits for the permission to read shared QUIC sockets. After that it reads anyway,
/// because the earlier reader may hang.
const PATIENCE: Duration = Duration::from_secs(1);

/// Relay of QUIC datagrams between processes that share sockets: the state of all processes, and the inbox of this
/// process.
#[derive(Debug)]
pub struct QuicRelay {
    state: Mutex<State>,
    /// Maximum wait for the permission to read sockets.
    max_wait: Duration,
}

impl Default for QuicRelay {
    fn default() -> Self {
        Self::with_max_wait(PATIENCE)
    }
}

#[derive(Debug, Default)]
struct State {
    /// This process; `None` until [`QuicRelay::set_processes`] is called.
    own: Option<QuicProcess>,
    others: Vec<OtherProcess>,
    /// Listeners of this process, by ID.
    listeners: HashMap<u64, RelayListener>,
    /// Socket from which this process receives relayed datagrams; `None` if there is none, or once a thread reads it.
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
    /// Set while this process reads the sockets of the listener.
    reads: Arc<AtomicBool>,
    /// Set if this process should read the listener's sockets according to the last known processes; `None` before the
    /// first selection.
    is_reader: Option<bool>,
    /// Set if this process is leaving and another process has accepted new connections of the listener since.
    had_successor: bool,
}

/// Result of sending a message to the inbox of another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InboxSendResult {
    /// The message is in the inbox, or was dropped, usually because the inbox is full.
    Done,
    /// The process has closed its inbox.
    Gone,
}

impl QuicRelay {
    /// Creates a relay in which the wait for the permission to read sockets is limited to `patience`.
    fn with_max_wait(patience: Duration) -> Self {
        Self { state: Mutex::default(), max_wait: patience }
    }

    /// Sets the processes that share the sockets: this process, and the others, each with the socket that writes to its
    /// inbox. If this process is leaving, it remains so, regardless of the standing in `own`.
    pub fn set_processes(self: &Arc<Self>, own: QuicProcess, others: Vec<(QuicProcess, OwnedFd)>) {
        let mut state = self.state();
        // A process that is leaving never serves again.
        let leaves = state.own.as_ref().is_some_and(|known| known.standing == Standing::Leaving);
        let standing = if leaves { Standing::Leaving } else { own.standing };
        state.own = Some(QuicProcess { standing, ..own });
        let other = |(process, inbox)| OtherProcess { process, inbox: Arc::new(inbox) };
        state.others = others.into_iter().map(other).collect();
        self.select_readers(&mut state);
    }

    /// Marks this process as leaving: from now on, another process that has the listener, if there is one, reads the
    /// shared sockets. Does nothing before [`Self::set_processes`].
    pub fn stop_accepting(self: &Arc<Self>) {
        let mut state = self.state();
        if let Some(own) = &mut state.own {
            own.standing = Standing::Leaving;
        }
        self.select_readers(&mut state);
    }

    /// Sets the inbox socket of this process, to be read by [`QuicRelay::start_reading_inbox`].
    pub fn set_inbox(&self, inbox: OwnedFd) {
        self.state().inbox = Some(Arc::new(inbox));
    }

    /// Starts a thread that reads the inbox, unless one was started or no inbox is set.
    ///
    /// # Errors
    ///
    /// The thread cannot be started. The inbox stays open, because other processes would otherwise consider
    /// this process dead, and the next call tries again.
    pub fn start_reading_inbox(self: &Arc<Self>) -> io::Result<()> {
        let Some(inbox) = self.state().inbox.clone() else { return Ok(()) };
        let relay = Arc::clone(self);
        std::thread::Builder::new().name("quic-inbox".to_owned()).spawn(move || relay.read(&inbox))?;
        self.state().inbox = None;
        Ok(())
    }

    /// Registers a listener of this process with the inboxes of its workers, unless it is registered already. Returns
    /// the ID of the listener, and a flag that is true while this process reads its sockets.
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

    /// Forwards a datagram to the process that owns its connection. Returns false if that process does not exist or has
    /// closed its inbox; true even if the datagram was dropped because the inbox is full.
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

    /// Returns true if another process accepts new connections of a listener, or has accepted them since this process
    /// started to leave.
    pub(super) fn has_successor(&self, listener: u64) -> bool {
        let state = self.state();
        state.others.iter().any(|other| other.accepts_new(listener))
            || state.listeners.get(&listener).is_some_and(|listener| listener.had_successor)
    }

    /// Reads the inbox until all writers have closed it or an error occurs.
    fn read(self: &Arc<Self>, inbox: &OwnedFd) {
        let mut buffer = vec![0; LONGEST];
        loop {
            match retry_on_intr(|| recv(inbox, &mut buffer[..], RecvFlags::empty())) {
                Ok((_, count @ 1..)) => self.process_message(buffer.get(..count).unwrap_or_default()),
                Ok(_) | Err(_) => return,
            }
        }
    }

    /// Processes a message from another process; ignores malformed messages and unknown listeners.
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

    /// Determines for each listener whether this process reads its sockets. If another process is to read sockets that
    /// this process has read, sends it the permission. Does nothing before the processes are set and while this process
    /// is starting.
    fn select_readers(self: &Arc<Self>, state: &mut State) {
        let State { own: Some(own), others, listeners, .. } = state else { return };
        if own.standing == Standing::Starting {
            return;
        }
        for (id, listener) in listeners {
            // A leaving process still ranks for a listener that is no longer configured, which can have connections.
            let own_rank = (own.standing_for(*id).unwrap_or(Standing::Leaving), own.rank);
            listener.had_successor = own_rank.0 == Standing::Leaving
                && (listener.had_successor || others.iter().any(|other| other.accepts_new(*id)));
            let rank = |other: &&OtherProcess| {
                other.process.standing_for(*id).map(|standing| (standing, other.process.rank))
            };
            let successor = others.iter().filter(|other| other.process.may_read(*id)).max_by_key(rank);
            let successor = successor.filter(|other| rank(other).is_some_and(|rank| rank > own_rank));
            let before = listener.is_reader.replace(successor.is_none());
            match successor {
                Some(reader) if listener.reads.swap(false, Ordering::AcqRel) => {
                    send(&reader.inbox, &[IoSlice::new(&message::read(*id))]);
                }
                // A process that was the reader before, or is the only process, needs no permission.
                None if before == Some(false) || !others.iter().any(|other| other.process.may_read(*id)) => {
                    listener.begin_to_read();
                }
                None if before.is_none() && !self.read_after_max_wait(*id) => listener.begin_to_read(),
                Some(_) | None => {}
            }
        }
    }

    /// Starts to read a listener's sockets after the maximum wait, even without permission. Returns false if the thread
    /// for the wait cannot be started.
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
    /// Returns the state of the process for a listener; `None` if the process does not have that listener.
    fn standing_for(&self, listener: u64) -> Option<Standing> {
        self.listeners.contains(&listener).then_some(self.standing)
    }

    /// Returns true if the process may read a listener's sockets: it has the listener and has started.
    fn may_read(&self, listener: u64) -> bool {
        self.standing_for(listener).is_some_and(|standing| standing != Standing::Starting)
    }
}

impl OtherProcess {
    /// Returns true if the process accepts new connections of a listener.
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
