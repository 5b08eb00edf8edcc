//! QUIC listeners of one worker.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use super::hub::Hub;
use super::place::QuicPlace;
use super::users::{Users, WeakUsers};
use crate::seats::Seats;
use crate::service::Service;

/// QUIC listeners of one worker, by number.
#[derive(Clone, Default)]
pub(crate) struct Hubs(Rc<RefCell<HashMap<u32, WeakUsers>>>);

impl Hubs {
    /// Starts a listener with the sockets of one address. If a listener with that number is already active, joins it.
    pub(crate) fn listen<S: Service>(
        &self,
        service: &Rc<S>,
        seats: &Seats,
        sockets: Vec<OwnedFd>,
        place: QuicPlace,
    ) -> io::Result<Users> {
        let mut hubs = self.0.borrow_mut();
        if let Some(users) = hubs.get(&place.number).and_then(WeakUsers::join) {
            return Ok(users);
        }
        let number = place.number;
        let users = Hub::start(Rc::clone(service), seats.clone(), sockets, place)?;
        hubs.insert(number, users.downgrade());
        Ok(users)
    }
}
