//! UDP relay between client and server, like a NAT: it may rebind the client to another port.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Relay between one client and the server.
#[derive(Debug)]
pub struct Network {
    /// Port to which the client must connect.
    pub port: u16,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    /// Socket toward the client.
    inside: UdpSocket,
    /// Socket toward the server.
    outside: Mutex<Arc<UdpSocket>>,
    client: Mutex<Option<SocketAddr>>,
    /// First bytes of the datagrams that the server has sent.
    seen: Mutex<Vec<u8>>,
    /// Last datagram of the client.
    sent: Mutex<Vec<u8>>,
    /// Set if datagrams of the server are dropped.
    is_deaf: AtomicBool,
    /// Bytes that the client has sent since its address changed, and bytes that the server has sent to the new address.
    since_moved: (AtomicUsize, AtomicUsize),
    over: AtomicBool,
}

/// Interval in which the threads check for shutdown.
const LOOK: Duration = Duration::from_millis(20);

fn socket() -> UdpSocket {
    bound([127, 0, 0, 1])
}

fn bound(address: [u8; 4]) -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::from(address), 0)).expect("a socket");
    socket.set_read_timeout(Some(LOOK)).expect("a time-out");
    socket
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Network {
    /// Creates a relay in front of a server's port.
    pub fn before(server: u16) -> Self {
        let outside = socket();
        outside.connect(("127.0.0.1", server)).expect("an address");
        let shared = Arc::new(Shared {
            inside: socket(),
            outside: Mutex::new(Arc::new(outside)),
            client: Mutex::default(),
            seen: Mutex::default(),
            sent: Mutex::default(),
            is_deaf: AtomicBool::new(false),
            since_moved: Default::default(),
            over: AtomicBool::new(false),
        });
        let port = shared.inside.local_addr().expect("an address").port();
        let (to_server, to_client) = (Arc::clone(&shared), Arc::clone(&shared));
        let threads = vec![
            std::thread::spawn(move || to_server.carry_out()),
            std::thread::spawn(move || to_client.carry_in()),
        ];
        Self { port, shared, threads }
    }

    /// Changes the port of the client as seen by the server.
    pub fn rebind(&self) {
        let peer = lock(&self.shared.outside).peer_addr().expect("an address");
        let outside = socket();
        outside.connect(peer).expect("an address");
        *lock(&self.shared.outside) = Arc::new(outside);
    }

    /// Changes the address of the client as seen by the server to 127.0.0.`last`.
    pub fn move_to(&self, last: u8) {
        let peer = lock(&self.shared.outside).peer_addr().expect("an address");
        let outside = bound([127, 0, 0, last]);
        outside.connect(peer).expect("an address");
        let mut known = lock(&self.shared.outside);
        for count in [&self.shared.since_moved.0, &self.shared.since_moved.1] {
            count.store(0, Ordering::Relaxed);
        }
        *known = Arc::new(outside);
    }

    /// Returns the bytes that the client has sent since [`Network::move_to`], and the bytes that it has received at its
    /// new address.
    pub fn since_moved(&self) -> (usize, usize) {
        let (sent, came) = &self.shared.since_moved;
        (sent.load(Ordering::Relaxed), came.load(Ordering::Relaxed))
    }

    /// Drops the datagrams of the server while `are_lost` is set.
    pub fn lose_answers(&self, are_lost: bool) {
        self.shared.is_deaf.store(are_lost, Ordering::Relaxed);
    }

    /// Returns the connection id that the server has issued, of the given length; `None` until the client sends it in a
    /// short header.
    pub fn connection_id(&self, length: usize) -> Option<Vec<u8>> {
        let sent = lock(&self.shared.sent);
        sent.get(..=length).filter(|id| id[0] & 0x80 == 0).map(|id| id[1..].to_vec())
    }

    /// Returns whether the server has sent a datagram, delivered or dropped.
    pub fn saw_answer(&self) -> bool {
        !lock(&self.shared.seen).is_empty()
    }

    /// Returns whether the server has sent a Retry (RFC 9000 section 17.2.5).
    pub fn saw_retry(&self) -> bool {
        lock(&self.shared.seen).iter().any(|first| first & 0xf0 == 0xf0)
    }
}

impl Shared {
    fn carry_out(&self) {
        let mut buffer = vec![0; 65_536];
        while !self.over.load(Ordering::Relaxed) {
            if let Ok((count, client)) = self.inside.recv_from(&mut buffer) {
                *lock(&self.client) = Some(client);
                buffer[..count].clone_into(&mut lock(&self.sent));
                let outside = lock(&self.outside);
                self.since_moved.0.fetch_add(count, Ordering::Relaxed);
                let _ = outside.send(&buffer[..count]);
            }
        }
    }

    fn carry_in(&self) {
        let mut buffer = vec![0; 65_536];
        while !self.over.load(Ordering::Relaxed) {
            let outside = Arc::clone(&lock(&self.outside));
            let Ok(count) = outside.recv(&mut buffer) else { continue };
            if Arc::ptr_eq(&outside, &lock(&self.outside)) {
                self.since_moved.1.fetch_add(count, Ordering::Relaxed);
            }
            lock(&self.seen).extend(buffer.first().take_if(|_| count > 0));
            if let Some(client) = lock(&self.client).filter(|_| !self.is_deaf.load(Ordering::Relaxed)) {
                let _ = self.inside.send_to(&buffer[..count], client);
            }
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
