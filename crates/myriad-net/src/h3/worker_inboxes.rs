//! Exchange of received datagrams between the workers of a QUIC listener.
//!
//! The kernel distributes datagrams to workers by the addresses of both sides. If the address of a client changes (a
//! phone leaves a network, a NAT loses its state), its datagrams reach another worker than the owner of its connection.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use bytes::BytesMut;
use quinn_proto::EcnCodepoint;

/// Maximum number of datagrams queued in the inbox of one worker, about 6 MB. Further datagrams are dropped, as the
/// kernel would do.
const MOST: usize = 4096;

/// Datagram with its kernel metadata.
#[derive(Debug)]
pub(super) struct Datagram {
    pub(super) bytes: BytesMut,
    pub(super) from: SocketAddr,
    /// Destination address; `None` if the kernel does not report it.
    pub(super) to: Option<IpAddr>,
    pub(super) ecn: Option<EcnCodepoint>,
}

/// Inboxes of the workers of one listener, for datagrams received by another worker.
#[derive(Debug)]
pub struct WorkerInboxes {
    inboxes: Vec<Mutex<WorkerInbox>>,
}

#[derive(Debug, Default)]
struct WorkerInbox {
    waiting: VecDeque<Datagram>,
    owner: Option<Waker>,
}

impl WorkerInboxes {
    /// Creates the inboxes of `workers` workers; values outside 1 to 256 are limited to this range.
    pub fn new(workers: usize) -> Arc<Self> {
        Arc::new(Self { inboxes: (0..workers.clamp(1, 256)).map(|_| Mutex::default()).collect() })
    }

    /// Returns the number of workers.
    pub(super) fn workers(&self) -> usize {
        self.inboxes.len()
    }

    fn inbox(&self, worker: u8) -> Option<MutexGuard<'_, WorkerInbox>> {
        let inbox = self.inboxes.get(usize::from(worker))?;
        Some(inbox.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets the waker of the task that reads the inbox of `worker`.
    pub(super) fn set_waker(&self, worker: u8, owner: &Waker) {
        if let Some(mut inbox) = self.inbox(worker)
            && inbox.owner.as_ref().is_none_or(|known| !known.will_wake(owner))
        {
            inbox.owner = Some(owner.clone());
        }
    }

    /// Queues a datagram for `worker`. It is dropped if the worker does not exist or its inbox is full.
    pub(super) fn enqueue(&self, worker: u8, datagram: Datagram) {
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

    /// Wakes the tasks of all workers.
    pub(super) fn wake_all(&self) {
        for inbox in &self.inboxes {
            let owner = inbox.lock().unwrap_or_else(PoisonError::into_inner).owner.clone();
            if let Some(owner) = owner {
                owner.wake();
            }
        }
    }

    /// Removes and returns all datagrams queued for `worker`; empty if the worker does not exist.
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
        let crossing = WorkerInboxes::new(2);
        crossing.enqueue(1, datagram(b"a"));
        crossing.enqueue(7, datagram(b"lost"));
        assert!(crossing.take(0).is_empty());
        assert_eq!(&crossing.take(1)[0].bytes[..], b"a");
        for _ in 0..=MOST {
            crossing.enqueue(0, datagram(b"x"));
        }
        assert_eq!(crossing.take(0).len(), MOST);
        assert!(crossing.take(0).is_empty());
    }
}
