//! QUIC listeners of one worker.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use super::acceptor_refs::{AcceptorRefs, WeakAcceptorRefs};
use super::listener::QuicListener;
use super::worker_sockets::QuicWorkerSockets;
use crate::connection_limiter::ConnectionLimiter;
use crate::service::Service;

/// QUIC listeners of one worker, by listener number.
#[derive(Clone, Default)]
pub(crate) struct Hubs(Rc<RefCell<HashMap<u32, WeakAcceptorRefs>>>);

impl Hubs {
    /// Starts a listener on sockets that share an address. If a listener with the same number is still active, reuses
    /// it instead and drops `sockets`.
    pub(crate) fn listen<S: Service>(
        &self,
        service: &Rc<S>,
        limiter: &ConnectionLimiter,
        sockets: Vec<OwnedFd>,
        place: QuicWorkerSockets,
    ) -> io::Result<AcceptorRefs> {
        let mut hubs = self.0.borrow_mut();
        if let Some(users) = hubs.get(&place.number).and_then(WeakAcceptorRefs::join) {
            return Ok(users);
        }
        let number = place.number;
        let users = QuicListener::start(Rc::clone(service), limiter.clone(), sockets, place)?;
        hubs.insert(number, users.downgrade());
        Ok(users)
    }
}
