//! The control socket as the worker process serves it: one request a connection, each on a thread of its own, so that
//! neither visitors nor one another wait.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use myriad_admin::{MOST_REQUEST_BYTES, Reply, Request};
use myriad_serve::Site;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{SocketFlags, accept_with, sockopt};

/// Commands that are served at once; more are told so.
const MOST_AT_ONCE: usize = 8;
/// How long a request may take to arrive.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long an answer may stand still, as one does that is read a screen at a time.
const STALL_LIMIT: Duration = Duration::from_mins(10);
/// Bytes of an answer that are gathered before they are sent.
const CHUNK: usize = 32 << 10;

/// An open door: closed when dropped, though what was asked is still answered.
#[derive(Debug)]
pub(crate) struct Door {
    /// Its end tells the thread to end.
    _stop: UnixStream,
}

/// What every connection needs.
struct House {
    site: Arc<Site>,
    /// Who may ask, besides root.
    owner: u32,
    guests: AtomicUsize,
}

impl Door {
    /// Opens the socket that the supervisor made; `owner` is the user who started it.
    pub(crate) fn open(socket: OwnedFd, site: Arc<Site>, owner: u32) -> io::Result<Self> {
        let (stop, stopped) = UnixStream::pair()?;
        let house = Arc::new(House { site, owner, guests: AtomicUsize::new(0) });
        thread::Builder::new().name("control".into()).spawn(move || {
            while wait(&socket, &stopped) {
                // Another worker process may have been quicker, and a guest may have gone.
                if let Ok(guest) = accept_with(&socket, SocketFlags::CLOEXEC) {
                    house.receive(UnixStream::from(guest));
                }
            }
        })?;
        Ok(Self { _stop: stop })
    }
}

/// Waits for a connection; false once the door is closed.
fn wait(socket: &OwnedFd, stopped: &UnixStream) -> bool {
    let mut polled = [PollFd::new(socket, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
    match poll(&mut polled, None) {
        Ok(_) => polled[1].revents().is_empty(),
        Err(rustix::io::Errno::INTR) => true,
        Err(_) => false,
    }
}

impl House {
    fn receive(self: &Arc<Self>, guest: UnixStream) {
        if !self.may_ask(&guest) {
            // The rights of the file forbid it already; these are for a file whose rights somebody has changed.
            return refuse(guest, "only root and the user who started Myriad may ask");
        }
        let seat = Seat::take(self);
        if self.guests.load(SeqCst) > MOST_AT_ONCE {
            return refuse(guest, "too many commands at once: try again in a moment");
        }
        // Without a thread the guest finds the connection closed.
        let _ = thread::Builder::new().name("control-guest".into()).spawn(move || {
            // A guest that goes away ends its own answer only.
            let _ = seat.0.serve(&guest);
        });
    }

    fn may_ask(&self, guest: &UnixStream) -> bool {
        let peer = sockopt::socket_peercred(guest.as_fd());
        peer.is_ok_and(|peer| peer.uid.is_root() || peer.uid.as_raw() == self.owner)
    }

    fn serve(&self, guest: &UnixStream) -> io::Result<()> {
        guest.set_write_timeout(Some(STALL_LIMIT))?;
        let mut answer = Answer { guest, gathered: Vec::with_capacity(CHUNK), failed: None };
        match read_line(guest).map(|line| Request::parse(&line)) {
            Ok(Ok(request)) => self.site.administrator().answer(&request, &mut |reply| answer.tell(&reply)),
            Ok(Err(error)) => _ = answer.tell(&Reply::Error(error.to_string())),
            Err(error) => _ = answer.tell(&Reply::Error(format!("no request: {error}"))),
        }
        answer.send();
        answer.failed.map_or(Ok(()), Err)
    }
}

/// A guest's place, given back however the guest ends.
struct Seat(Arc<House>);

impl Seat {
    fn take(house: &Arc<House>) -> Self {
        house.guests.fetch_add(1, SeqCst);
        Self(Arc::clone(house))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.guests.fetch_sub(1, SeqCst);
    }
}

fn refuse(mut guest: UnixStream, why: &str) {
    let mut line = Vec::new();
    Reply::Error(why.to_owned()).write(&mut line);
    // It fits into the socket's buffer, or the guest has gone.
    let _ = guest.set_nonblocking(true).and_then(|()| guest.write_all(&line));
}

/// Reads up to the line feed, which must come within [`PATIENCE`].
fn read_line(mut guest: &UnixStream) -> io::Result<Vec<u8>> {
    let until = Instant::now() + PATIENCE;
    let mut line = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        guest.set_read_timeout(Some(left))?;
        let read = match guest.read(&mut chunk) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
            Err(error) => return Err(error),
        };
        line.extend_from_slice(&chunk[..read]);
        if let Some(end) = chunk[..read].iter().position(|byte| *byte == b'\n') {
            line.truncate(line.len() - read + end);
            return Ok(line);
        }
        if line.len() > MOST_REQUEST_BYTES {
            return Err(io::Error::other("it is too long"));
        }
    }
}

/// An answer on its way.
struct Answer<'a> {
    guest: &'a UnixStream,
    gathered: Vec<u8>,
    failed: Option<io::Error>,
}

impl Answer<'_> {
    /// Takes a line; false where the guest has gone.
    fn tell(&mut self, reply: &Reply) -> bool {
        reply.write(&mut self.gathered);
        if self.gathered.len() >= CHUNK {
            self.send();
        }
        self.failed.is_none()
    }

    fn send(&mut self) {
        let gathered = std::mem::take(&mut self.gathered);
        if self.failed.is_none()
            && let Err(error) = self.guest.write_all(&gathered)
        {
            self.failed = Some(error);
        }
    }
}
