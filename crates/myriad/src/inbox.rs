//! The inboxes of worker processes that serve QUIC: made by the supervisor, who gives one end to the process and the other to all that have
//! the same sockets.

use std::io;
use std::os::fd::OwnedFd;

use myriad_serve::QuicProcess;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair, sockopt};

/// Bytes of an inbox: what a client sends in the time for which its process may be late. Without the privilege for more, the kernel gives
/// what `net.core.wmem_max` allows.
const SIZE: usize = 4 << 20;

/// A worker process with the way into its inbox.
#[derive(Debug)]
pub(crate) struct Reachable {
    pub(crate) process: QuicProcess,
    pub(crate) way_in: OwnedFd,
}

impl Reachable {
    /// Whether the process lives: somebody reads its inbox.
    pub(crate) fn lives(&self) -> bool {
        let mut polled = [PollFd::new(&self.way_in, PollFlags::empty())];
        match poll(&mut polled, Some(&Timespec::default())) {
            Ok(_) => !polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR),
            Err(_) => true,
        }
    }
}

/// A new inbox: the way in, and the end that is read. A message stays one, and whoever writes learns that nobody reads.
pub(crate) fn make() -> io::Result<(OwnedFd, OwnedFd)> {
    let (way_in, read) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    if sockopt::set_socket_send_buffer_size_force(&way_in, SIZE).is_err() {
        sockopt::set_socket_send_buffer_size(&way_in, SIZE)?;
    }
    Ok((way_in, read))
}

#[cfg(test)]
mod tests {
    use myriad_serve::Standing;

    use super::*;

    #[test]
    fn a_process_lives_as_long_as_its_inbox_is_held() {
        let (way_in, read) = make().expect("an inbox");
        let process = QuicProcess { number: 1, rank: 1, standing: Standing::Serving, listeners: Vec::new() };
        let reachable = Reachable { process, way_in };
        assert!(reachable.lives());
        drop(read);
        assert!(!reachable.lives());
    }
}
