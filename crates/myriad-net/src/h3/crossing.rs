//! Datagrams that came to another worker than the one that has their connection.
//!
//! The kernel deals datagrams out by the addresses at both ends; a client whose address changes on the way (a phone that
//! leaves the house, a NAT that forgets) is then dealt to another thread.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use bytes::BytesMut;
use quinn_proto::EcnCodepoint;

/// Datagrams that wait for one worker at most; beyond that they are dropped, as the kernel would: about 6 MB.
const MOST: usize = 4096;

/// A datagram with what the kernel said of it.
#[derive(Debug)]
pub(super) struct Datagram {
    pub(super) bytes: BytesMut,
    pub(super) from: SocketAddr,
    /// The address that it was sent to.
    pub(super) to: Option<IpAddr>,
    pub(super) ecn: Option<EcnCodepoint>,
}

/// Inboxes in which the workers of one listener pass datagrams on to each other.
#[derive(Debug)]
pub struct Crossing {
    inboxes: Vec<Mutex<Inbox>>,
}

#[derive(Debug, Default)]
struct Inbox {
    waiting: VecDeque<Datagram>,
    owner: Option<Waker>,
}

impl Crossing {
    /// A crossing of so many workers, at most 256.
    pub fn new(workers: usize) -> Arc<Self> {
        Arc::new(Self { inboxes: (0..workers.clamp(1, 256)).map(|_| Mutex::default()).collect() })
    }

    /// How many workers there are.
    pub(super) fn workers(&self) -> usize {
        self.inboxes.len()
    }

    fn inbox(&self, worker: u8) -> Option<MutexGuard<'_, Inbox>> {
        let inbox = self.inboxes.get(usize::from(worker))?;
        Some(inbox.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets who is woken when there is something for `worker`.
    pub(super) fn attend(&self, worker: u8, owner: &Waker) {
        if let Some(mut inbox) = self.inbox(worker)
            && inbox.owner.as_ref().is_none_or(|known| !known.will_wake(owner))
        {
            inbox.owner = Some(owner.clone());
        }
    }

    /// Passes a datagram on. Where there is no such worker, or it does not keep up, the datagram is lost.
    pub(super) fn pass(&self, worker: u8, datagram: Datagram) {
        let Some(mut inbox) = self.inbox(worker) else { return };
        if inbox.waiting.len() < MOST {
            inbox.waiting.push_back(datagram);
        }
        let owner = inbox.owner.clone();
        drop(inbox);
        if let Some(owner) = owner {
            owner.wake();
        }
    }

    /// Wakes all workers.
    pub(super) fn wake_all(&self) {
        for inbox in &self.inboxes {
            let owner = inbox.lock().unwrap_or_else(PoisonError::into_inner).owner.clone();
            if let Some(owner) = owner {
                owner.wake();
            }
        }
    }

    /// Takes what waits for `worker`.
    pub(super) fn take(&self, worker: u8) -> VecDeque<Datagram> {
        self.inbox(worker).map(|mut inbox| std::mem::take(&mut inbox.waiting)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(text: &[u8]) -> Datagram {
        let from = SocketAddr::from(([127, 0, 0, 1], 1));
        Datagram { bytes: BytesMut::from(text), from, to: None, ecn: None }
    }

    #[test]
    fn what_is_passed_on_waits_for_its_worker_within_bounds() {
        let crossing = Crossing::new(2);
        crossing.pass(1, datagram(b"a"));
        crossing.pass(7, datagram(b"lost"));
        assert!(crossing.take(0).is_empty());
        assert_eq!(&crossing.take(1)[0].bytes[..], b"a");
        for _ in 0..=MOST {
            crossing.pass(0, datagram(b"x"));
        }
        assert_eq!(crossing.take(0).len(), MOST);
        assert!(crossing.take(0).is_empty());
    }
}
