//! Server of the control socket in the worker process.
//!
//! Each connection carries one request and has a separate thread, so that neither clients nor other commands are
//! delayed.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use myriad_admin::protocol::{AdminReply, AdminRequest, MOST_REQUEST_BYTES};
use myriad_serve::RunningSite;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, sockopt};

/// Maximum number of concurrent clients; further ones are rejected with an error message.
const MOST_AT_ONCE: usize = 8;
/// Maximum time for receiving a request.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum time for which a client may read nothing of a response. It is long because users may view a response in a
/// pager.
const STALL_LIMIT: Duration = Duration::from_mins(10);
/// Number of bytes of a response that are buffered before they are sent.
const CHUNK: usize = 32 << 10;

/// Pause before a connection is accepted again after the process ran out of file descriptors or memory.
const NO_FILE_PAUSE: Duration = Duration::from_millis(100);

/// Server of the control socket. When dropped, it accepts no more connections; requests that were received are still
/// answered.
#[derive(Debug)]
pub struct ControlServer {
    /// Half of a socket pair; closing it stops the thread that accepts connections.
    _stop: UnixStream,
}

/// State shared by the threads of all connections.
struct ControlShared {
    site: Arc<RunningSite>,
    /// ID of the user that may send requests; root may always send them.
    owner: u32,
    clients: AtomicUsize,
}

impl ControlServer {
    /// Starts a thread that serves a listening socket. Only root and the user with the ID `owner` may send requests.
    /// Returns an error if the thread cannot be started.
    pub fn open(socket: OwnedFd, site: Arc<RunningSite>, owner: u32) -> io::Result<Self> {
        let (stop, stopped) = UnixStream::pair()?;
        let shared = Arc::new(ControlShared { site, owner, clients: AtomicUsize::new(0) });
        thread::Builder::new().name("control".into()).spawn(move || {
            while wait(&socket, &stopped) {
                // An error usually means that there is no connection any more: another worker process has accepted
                // it, or the client has closed it.
                match accept_with(&socket, SocketFlags::CLOEXEC) {
                    Ok(client) => shared.receive(UnixStream::from(client)),
                    // The connection remains in the queue, so that the socket is ready at once.
                    Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                        thread::sleep(NO_FILE_PAUSE);
                    }
                    Err(_) => {}
                }
            }
        })?;
        Ok(Self { _stop: stop })
    }
}

/// Waits for a connection. Returns `false` once the server has been dropped, or if `poll` fails.
fn wait(socket: &OwnedFd, stopped: &UnixStream) -> bool {
    let mut polled = [PollFd::new(socket, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
    match poll(&mut polled, None) {
        Ok(_) => polled[1].revents().is_empty(),
        Err(Errno::INTR) => true,
        Err(_) => false,
    }
}

impl ControlShared {
    fn receive(self: &Arc<Self>, client: UnixStream) {
        if !self.is_permitted(&client) {
            // The mode of the socket file already excludes other users, unless somebody has changed it.
            return reject(
                client,
                "permission denied: only root and the user who started Myriad can use the control socket",
            );
        }
        let active = ActiveClient::take(self);
        if self.clients.load(SeqCst) > MOST_AT_ONCE {
            return reject(client, "too many concurrent commands: try again in a moment");
        }
        // If no thread can be started, the connection is closed.
        let _ = thread::Builder::new().name("control-client".into()).spawn(move || {
            // An error means that the client has disconnected.
            let _ = active.0.serve(&client);
        });
    }

    fn is_permitted(&self, client: &UnixStream) -> bool {
        let peer = sockopt::socket_peercred(client.as_fd());
        peer.is_ok_and(|peer| peer.uid.is_root() || peer.uid.as_raw() == self.owner)
    }

    fn serve(&self, client: &UnixStream) -> io::Result<()> {
        client.set_write_timeout(Some(STALL_LIMIT))?;
        let mut answer = BufferedReply { client, buffer: Vec::with_capacity(CHUNK), failed: None };
        match read_line(client).map(|line| AdminRequest::parse(&line)) {
            Ok(Ok(request)) => {
                self.site.administrator().answer(&request, &mut |reply| answer.push_reply(&reply));
            }
            Ok(Err(error)) => _ = answer.push_reply(&AdminReply::Error(error.to_string())),
            Err(error) => _ = answer.push_reply(&AdminReply::Error(format!("invalid request: {error}"))),
        }
        answer.send();
        answer.failed.map_or(Ok(()), Err)
    }
}

/// Counts a client as active until dropped, also if its thread panics.
struct ActiveClient(Arc<ControlShared>);

impl ActiveClient {
    fn take(shared: &Arc<ControlShared>) -> Self {
        shared.clients.fetch_add(1, SeqCst);
        Self(Arc::clone(shared))
    }
}

impl Drop for ActiveClient {
    fn drop(&mut self) {
        self.0.clients.fetch_sub(1, SeqCst);
    }
}

fn reject(mut client: UnixStream, why: &str) {
    let mut line = Vec::new();
    AdminReply::Error(why.to_owned()).write(&mut line);
    // The line fits into the socket's buffer, so an error means that the client has disconnected.
    let _ = client.set_nonblocking(true).and_then(|()| client.write_all(&line));
}

/// Reads a line, and returns it without its line break. Returns an error if the line is not complete within
/// [`PATIENCE`], if it is longer than [`MOST_REQUEST_BYTES`], or if the client disconnects.
fn read_line(mut client: &UnixStream) -> io::Result<Vec<u8>> {
    let until = Instant::now() + PATIENCE;
    let mut line = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        client.set_read_timeout(Some(left))?;
        let read = match client.read(&mut chunk) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
            Err(error) => return Err(error),
        };
        let end = chunk[..read].iter().position(|byte| *byte == b'\n');
        line.extend_from_slice(&chunk[..end.unwrap_or(read)]);
        if line.len() > MOST_REQUEST_BYTES {
            return Err(io::Error::other("the request is too long"));
        }
        if end.is_some() {
            return Ok(line);
        }
    }
}

/// Response that is buffered before it is sent.
struct BufferedReply<'a> {
    client: &'a UnixStream,
    buffer: Vec<u8>,
    failed: Option<io::Error>,
}

impl BufferedReply<'_> {
    /// Appends a report; sends the buffer if it contains at least [`CHUNK`] bytes or the report is a live event.
    /// Returns `false` if sending has failed.
    fn push_reply(&mut self, reply: &AdminReply) -> bool {
        reply.write(&mut self.buffer);
        // A live event is sent immediately, because the next line may come only after a second.
        if self.buffer.len() >= CHUNK || matches!(reply, AdminReply::Tick(_)) {
            self.send();
        }
        self.failed.is_none()
    }

    fn send(&mut self) {
        let gathered = std::mem::take(&mut self.buffer);
        if self.failed.is_none()
            && let Err(error) = self.client.write_all(&gathered)
        {
            self.failed = Some(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the length of the request that is read if a client sends `len` bytes and a line break; `None` after an
    /// error.
    fn read_len(len: usize) -> Option<usize> {
        let (mut client, server) = UnixStream::pair().expect("a socket pair");
        let mut text = vec![b'x'; len];
        text.push(b'\n');
        // The server may stop reading before the client has sent everything.
        let sending = thread::spawn(move || client.write_all(&text));
        let line = read_line(&server).ok();
        drop(server);
        let _ = sending.join().expect("no panic");
        line.map(|line| line.len())
    }

    #[test]
    fn request_is_limited_also_if_its_last_chunk_has_the_line_break() {
        for len in [0, 1, 4095, 4096, MOST_REQUEST_BYTES] {
            assert_eq!(read_len(len), Some(len));
        }
        for len in [MOST_REQUEST_BYTES + 1, MOST_REQUEST_BYTES + 100] {
            assert_eq!(read_len(len), None);
        }
    }
}
