//! DNS server that resolves every name to 127.0.0.1, except for names that a test overrides.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// DNS server on its own port; shut down on drop.
#[derive(Debug)]
pub struct NameServer {
    /// Port, for UDP and TCP.
    pub port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    over: AtomicBool,
    elsewhere: Mutex<Vec<(String, Ipv4Addr)>>,
}

impl NameServer {
    /// Starts a server on a free port of 127.0.0.1.
    #[expect(clippy::new_without_default, reason = "it opens a socket: nothing that a default should do")]
    pub fn new() -> Self {
        // Clients use UDP or TCP: the port must be free for both.
        let (socket, listener) =
            std::iter::repeat_with(|| TcpListener::bind(("127.0.0.1", 0)).expect("a socket"))
                .find_map(|tcp| Some((UdpSocket::bind(tcp.local_addr().expect("an address")).ok()?, tcp)))
                .expect("a port");
        socket.set_read_timeout(Some(Duration::from_millis(100))).expect("a time-out");
        let port = socket.local_addr().expect("an address").port();
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                if theirs.over.load(Ordering::Relaxed) {
                    return;
                }
                if let Ok(client) = client {
                    let theirs = Arc::clone(&theirs);
                    std::thread::spawn(move || theirs.answer_by_tcp(client));
                }
            }
        });
        let theirs = Arc::clone(&shared);
        std::thread::spawn(move || {
            let mut query = [0; 512];
            while !theirs.over.load(Ordering::Relaxed) {
                let Ok((length, client)) = socket.recv_from(&mut query) else { continue };
                if let Some(answer) = theirs.answer(&query[..length]) {
                    let _ = socket.send_to(&answer, client);
                }
            }
        });
        Self { port, shared }
    }

    /// Sets the address of a name from now on.
    pub fn put(&self, name: &str, address: Ipv4Addr) {
        let mut elsewhere = self.shared.elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
        elsewhere.retain(|(known, _)| known != name);
        elsewhere.push((name.to_owned(), address));
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for a client.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

impl Shared {
    /// Answers queries with length prefixes (RFC 1035 section 4.2.2) until the client closes.
    fn answer_by_tcp(&self, mut client: TcpStream) -> Option<()> {
        client.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        loop {
            let mut length = [0; 2];
            client.read_exact(&mut length).ok()?;
            let mut query = vec![0; usize::from(u16::from_be_bytes(length))];
            client.read_exact(&mut query).ok()?;
            let answer = self.answer(&query)?;
            let whole = [&(answer.len() as u16).to_be_bytes()[..], &answer].concat();
            client.write_all(&whole).ok()?;
        }
    }

    /// Returns the response to a query: an A record for type A, no record for other types. `None` if the query is
    /// malformed.
    fn answer(&self, query: &[u8]) -> Option<Vec<u8>> {
        let mut name = String::new();
        let mut at = 12;
        loop {
            let length = usize::from(*query.get(at)?);
            at += 1;
            if length == 0 {
                break;
            }
            if !name.is_empty() {
                name.push('.');
            }
            name.push_str(&String::from_utf8_lossy(query.get(at..at + length)?));
            at += length;
        }
        let is_address = query.get(at..at + 2)? == [0, 1];
        let question = query.get(12..at + 4)?;
        let elsewhere = self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
        let place = elsewhere.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name));
        let address = place.map_or(Ipv4Addr::LOCALHOST, |(_, address)| *address);
        let mut answer = query.get(..2)?.to_vec();
        answer.extend([0x81, 0x80, 0, 1, 0, u8::from(is_address), 0, 0, 0, 0]);
        answer.extend(question);
        if is_address {
            answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4]);
            answer.extend(address.octets());
        }
        Some(answer)
    }
}
