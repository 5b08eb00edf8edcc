//! Limit of the concurrent TLS handshakes of a client network.
//!
//! A handshake costs some kilobytes and perhaps a signature. `client_header_timeout` limits its duration; this module
//! limits the number per client network. At the limit, a new handshake aborts the oldest one, so that clients that
//! start handshakes without finishing them do not lock out other clients of their network.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::rc::Rc;
use std::task::{Context, Waker};

use myriad_http::client_network;

use crate::connection::Connection;

/// Maximum number of concurrent TLS handshakes of one client network per worker. Many clients can share one address; a
/// handshake takes one round trip.
const MOST: usize = 256;

thread_local! {
    /// Handshakes in progress on this thread by client network, the oldest first.
    static UNDER_WAY: RefCell<HashMap<IpAddr, VecDeque<Rc<HandshakeEntry>>>> = RefCell::default();
}

/// TLS handshake in progress, in the list of its client network.
#[derive(Default)]
struct HandshakeEntry {
    /// Set if this handshake must be aborted, because a newer handshake of the client network exceeded the limit.
    is_aborted: Cell<bool>,
    task: RefCell<Option<Waker>>,
}

/// Registration of a handshake in progress; dropping it removes the handshake. `None` if the client has no IP address.
pub(super) struct HalfOpenGuard(Option<(IpAddr, Rc<HandshakeEntry>)>);

impl HalfOpenGuard {
    /// Registers a handshake that has started. At the limit, aborts the oldest handshake of the client network.
    pub(super) fn register(connection: &Connection) -> Self {
        let announced = connection.proxied.get().map(|header| header.source.ip());
        let Some(client) = announced.or_else(|| connection.peer.ip()).map(client_network) else {
            return Self(None);
        };
        let place = Rc::new(HandshakeEntry::default());
        let oldest = UNDER_WAY.with_borrow_mut(|under_way| {
            let places = under_way.entry(client).or_default();
            let oldest = if places.len() < MOST { None } else { places.pop_front() };
            places.push_back(Rc::clone(&place));
            oldest
        });
        if let Some(oldest) = oldest {
            oldest.is_aborted.set(true);
            if let Some(task) = oldest.task.take() {
                task.wake();
            }
        }
        Self(Some((client, place)))
    }

    /// Returns true if the handshake must be aborted, because its client network has too many handshakes in progress.
    /// Otherwise the task of `cx` is woken when the handshake must be aborted.
    pub(super) fn must_abort(&self, cx: &Context<'_>) -> bool {
        let Some((_, place)) = &self.0 else { return false };
        if place.is_aborted.get() {
            return true;
        }
        let mut task = place.task.borrow_mut();
        if !task.as_ref().is_some_and(|task| task.will_wake(cx.waker())) {
            *task = Some(cx.waker().clone());
        }
        false
    }
}

impl Drop for HalfOpenGuard {
    fn drop(&mut self) {
        let Some((client, place)) = &self.0 else { return };
        UNDER_WAY.with_borrow_mut(|under_way| {
            if let Some(places) = under_way.get_mut(client) {
                places.retain(|other| !Rc::ptr_eq(other, place));
                if places.is_empty() {
                    under_way.remove(client);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::ClientAddress;

    fn connection(address: &str) -> std::rc::Rc<Connection> {
        let peer = ClientAddress::Inet(address.parse().unwrap());
        Connection::without_socket(1, 0, (peer, "127.0.0.1:1".parse().unwrap()), None)
    }

    #[test]
    fn the_oldest_handshake_of_an_address_gives_way_and_others_do_not_suffer() {
        let client = connection("[2001:db8::1]:5");
        let neighbour = connection("[2001:db8::2]:5");
        let cx = Context::from_waker(Waker::noop());
        let other = HalfOpenGuard::register(&connection("[2001:db8:1::1]:5"));
        let mut held: Vec<_> = (0..MOST).map(|_| HalfOpenGuard::register(&client)).collect();
        assert!(held.iter().all(|one| !one.must_abort(&cx)));
        held.push(HalfOpenGuard::register(&neighbour));
        assert!(held[0].must_abort(&cx), "one network is one client");
        assert!(held[1..].iter().chain([&other]).all(|one| !one.must_abort(&cx)));
        held.remove(7);
        held.push(HalfOpenGuard::register(&client));
        assert_eq!(held.iter().filter(|one| one.must_abort(&cx)).count(), 1, "one has made room by itself");
        held.clear();
        drop(other);
        UNDER_WAY.with_borrow(|under_way| assert!(under_way.is_empty()));
    }

    #[test]
    fn evicted_handshake_is_woken() {
        struct Rung(std::sync::atomic::AtomicBool);
        impl std::task::Wake for Rung {
            fn wake(self: std::sync::Arc<Self>) {
                self.0.store(true, std::sync::atomic::Ordering::Relaxed);
            }
        }
        let rung = std::sync::Arc::new(Rung(false.into()));
        let waker = Waker::from(std::sync::Arc::clone(&rung));
        let client = connection("192.0.2.1:5");
        let first = HalfOpenGuard::register(&client);
        assert!(!first.must_abort(&Context::from_waker(&waker)));
        let _held: Vec<_> = (0..MOST).map(|_| HalfOpenGuard::register(&client)).collect();
        assert!(rung.0.load(std::sync::atomic::Ordering::Relaxed));
    }
}
