//! Datagrams that come to another process than the one that has their connection, as they do during an upgrade of the binary.
//!
//! The processes have copies of the same sockets, and a datagram that one has read is gone for the others. So one alone reads a
//! listener's sockets, its reader: the newest process that serves. What is for a connection of another process, by its ID, the
//! reader puts into the inbox of that process, which answers by its own copy of the socket.
//!
//! ```text
//!   sockets -> the reader's hub -> ID of another process? -> Relay -> inbox of that process -> its Crossing -> its hub
//! ```
//!
//! A reader that has a successor reads no more and tells it so by a message. Before that a new process reads nothing, so that none of
//! its connections begins before the earlier reader knows it: that one would answer their datagrams by resets. They wait in the
//! sockets meanwhile.
//!
//! What is passed on is bounded by the size of the inbox and dropped beyond, as on any network; it is passed on once, never back; and the
//! only address that it is ever answered to is the one that it came from.

mod message;
mod process;

use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, sendmsg};

use super::cid::Owner;
use super::crossing::{Crossing, Datagram};
pub use message::examine as examine_relayed;
use message::{LONGEST, Message};
pub use process::{QuicProcess, Standing, listener_id};

/// How long a new process waits to be told that it may read; then it reads all the same, for the earlier reader may hang.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a process knows of the others that have the same sockets, and its own inbox.
#[derive(Debug)]
pub struct Relay {
    state: Mutex<State>,
    patience: Duration,
}

impl Default for Relay {
    fn default() -> Self {
        Self::with_patience(PATIENCE)
    }
}

#[derive(Debug, Default)]
struct State {
    /// This process; none where there are no others.
    own: Option<QuicProcess>,
    others: Vec<Other>,
    /// The listeners of this process, by their IDs.
    listeners: HashMap<u64, Listener>,
    /// The inbox, until it is read from.
    inbox: Option<Arc<OwnedFd>>,
}

#[derive(Debug)]
struct Other {
    process: QuicProcess,
    inbox: Arc<OwnedFd>,
}

#[derive(Debug)]
struct Listener {
    crossing: Arc<Crossing>,
    /// Whether this process reads its sockets.
    reads: Arc<AtomicBool>,
    /// Whether it is the reader by what is known of all; none before that was asked.
    is_reader: Option<bool>,
    /// Whether another process has taken new connections since this one takes no more of them.
    had_successor: bool,
}

/// What became of a message to another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    /// It is in the inbox, or was dropped because that is full.
    Done,
    /// Nobody reads the inbox any more.
    Gone,
}

impl Relay {
    /// A process waits so long to be told that it may read.
    fn with_patience(patience: Duration) -> Self {
        Self { state: Mutex::default(), patience }
    }

    /// Takes in what there is now: this process, and the others with the ways into their inboxes.
    pub fn know(self: &Arc<Self>, own: QuicProcess, others: Vec<(QuicProcess, OwnedFd)>) {
        let mut state = self.state();
        // Who has begun to leave does not come back, whatever was said of it before.
        let leaves = state.own.as_ref().is_some_and(|known| known.standing == Standing::Leaving);
        let standing = if leaves { Standing::Leaving } else { own.standing };
        state.own = Some(QuicProcess { standing, ..own });
        let other = |(process, inbox)| Other { process, inbox: Arc::new(inbox) };
        state.others = others.into_iter().map(other).collect();
        self.settle(&mut state);
    }

    /// This process takes no new connections from now on: another one reads the sockets, if there is any.
    pub fn leave(self: &Arc<Self>) {
        let mut state = self.state();
        if let Some(own) = &mut state.own {
            own.standing = Standing::Leaving;
        }
        self.settle(&mut state);
    }

    /// Takes this process's inbox, which [`Relay::begin`] reads.
    pub fn take_inbox(&self, inbox: OwnedFd) {
        self.state().inbox = Some(Arc::new(inbox));
    }

    /// Reads the inbox from now on, on a thread of its own, if there is one that is not read yet.
    ///
    /// # Errors
    /// The thread cannot be started. The inbox is kept, for without it the others would take this process for gone; the next call tries
    /// again.
    pub fn begin(self: &Arc<Self>) -> io::Result<()> {
        let Some(inbox) = self.state().inbox.clone() else { return Ok(()) };
        let relay = Arc::clone(self);
        std::thread::Builder::new().name("quic-inbox".to_owned()).spawn(move || relay.read(&inbox))?;
        self.state().inbox = None;
        Ok(())
    }

    /// A listener of this process, by its name; its workers have this crossing. Gives its ID, and whether this process reads its sockets.
    pub(super) fn listen(&self, name: &str, crossing: &Arc<Crossing>) -> (u64, Arc<AtomicBool>) {
        let id = listener_id(name);
        let mut state = self.state();
        let has_reader = state.others.iter().any(|other| other.process.may_read(id));
        let listener = state.listeners.entry(id).or_insert_with(|| Listener {
            crossing: Arc::clone(crossing),
            reads: Arc::new(AtomicBool::new(!has_reader)),
            is_reader: None,
            had_successor: false,
        });
        (id, Arc::clone(&listener.reads))
    }

    /// Passes a datagram on to the process that has its connection. False where there is no such process.
    pub(super) fn pass(self: &Arc<Self>, listener: u64, owner: Owner, datagram: &Datagram) -> bool {
        let other = |other: &&Other| other.process.number == owner.process;
        let Some(inbox) = self.state().others.iter().find(other).map(|other| Arc::clone(&other.inbox)) else {
            return false;
        };
        let head = message::head_of_datagram(listener, owner.worker, datagram);
        if send(&inbox, &[IoSlice::new(&head), IoSlice::new(&datagram.bytes)]) == Sent::Done {
            return true;
        }
        let mut state = self.state();
        state.others.retain(|other| !Arc::ptr_eq(&other.inbox, &inbox));
        self.settle(&mut state);
        false
    }

    /// Whether another process takes new connections of a listener, or has taken them since this one left: the next of its kind will.
    pub(super) fn has_successor(&self, listener: u64) -> bool {
        let state = self.state();
        state.others.iter().any(|other| other.takes_new(listener))
            || state.listeners.get(&listener).is_some_and(|listener| listener.had_successor)
    }

    /// Reads the inbox for as long as anybody can write into it.
    fn read(self: &Arc<Self>, inbox: &OwnedFd) {
        let mut buffer = vec![0; LONGEST];
        loop {
            match retry_on_intr(|| recv(inbox, &mut buffer[..], RecvFlags::empty())) {
                Ok((_, count @ 1..)) => self.take(buffer.get(..count).unwrap_or_default()),
                Ok(_) | Err(_) => return,
            }
        }
    }

    /// Does what a message says; what is no message is dropped.
    fn take(&self, message: &[u8]) {
        let state = self.state();
        match Message::parse(message) {
            Some(Message::Datagram { listener, worker, datagram }) => {
                if let Some(listener) = state.listeners.get(&listener) {
                    listener.crossing.pass(worker, datagram);
                }
            }
            Some(Message::Read { listener }) => {
                if let Some(listener) = state.listeners.get(&listener) {
                    listener.begin_to_read();
                }
            }
            None => {}
        }
    }

    /// Has each listener's sockets read by its reader, by what is known now.
    fn settle(self: &Arc<Self>, state: &mut State) {
        let State { own: Some(own), others, listeners, .. } = state else { return };
        if own.standing == Standing::Starting {
            return;
        }
        for (id, listener) in listeners {
            // A listener that is no longer configured is read as long as it has connections.
            let own_rank = (own.standing_for(*id).unwrap_or(Standing::Leaving), own.rank);
            listener.had_successor = own_rank.0 == Standing::Leaving
                && (listener.had_successor || others.iter().any(|other| other.takes_new(*id)));
            let rank = |other: &&Other| {
                other.process.standing_for(*id).map(|standing| (standing, other.process.rank))
            };
            let heir = others.iter().filter(|other| other.process.may_read(*id)).max_by_key(rank);
            let heir = heir.filter(|heir| rank(heir).is_some_and(|rank| rank > own_rank));
            let before = listener.is_reader.replace(heir.is_none());
            match heir {
                Some(heir) if listener.reads.swap(false, Ordering::AcqRel) => {
                    send(&heir.inbox, &[IoSlice::new(&message::read(*id))]);
                }
                // One that was the reader before is known to all others.
                None if before == Some(false) || !others.iter().any(|other| other.process.may_read(*id)) => {
                    listener.begin_to_read();
                }
                None if before.is_none() && !self.read_at_last(*id) => listener.begin_to_read(),
                Some(_) | None => {}
            }
        }
    }

    /// Has a listener's sockets read after some time even if nobody says that they may be. False where no thread can wait for that.
    fn read_at_last(self: &Arc<Self>, listener: u64) -> bool {
        let relay = Arc::downgrade(self);
        let patience = self.patience;
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

impl Other {
    /// Whether it takes new connections of a listener.
    fn takes_new(&self, listener: u64) -> bool {
        self.process.standing_for(listener) == Some(Standing::Serving)
    }
}

impl Listener {
    fn begin_to_read(&self) {
        if !self.reads.swap(true, Ordering::AcqRel) {
            self.crossing.wake_all();
        }
    }
}

/// Puts a message into an inbox without waiting.
fn send(inbox: &OwnedFd, parts: &[IoSlice<'_>]) -> Sent {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let sent = retry_on_intr(|| sendmsg(inbox, parts, &mut SendAncillaryBuffer::default(), flags));
    match sent {
        Err(Errno::PIPE | Errno::CONNREFUSED | Errno::CONNRESET | Errno::NOTCONN) => Sent::Gone,
        Ok(_) | Err(_) => Sent::Done,
    }
}

#[cfg(test)]
mod tests;
