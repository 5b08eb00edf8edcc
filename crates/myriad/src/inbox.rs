//! Inboxes of worker processes that serve QUIC, by which other processes forward datagrams to them.
//!
//! The supervisor creates an inbox. It passes the receiving endpoint to the process, and the sending endpoint to all
//! processes with the same sockets.

use std::io;
use std::os::fd::OwnedFd;

use myriad_serve::QuicProcess;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair, sockopt};

/// Buffer size of an inbox for QUIC datagrams, in bytes: enough for the datagrams that arrive while the receiving
/// process is delayed. Without the privilege to exceed it, the kernel limits the size to `net.core.wmem_max`.
const SIZE: usize = 4 << 20;

/// Worker process that shares QUIC sockets, and the sending endpoint of its inbox.
#[derive(Debug)]
pub(crate) struct ReachableProcess {
    pub(crate) process: QuicProcess,
    pub(crate) sender: OwnedFd,
}

impl ReachableProcess {
    /// Returns whether the process still has the receiving endpoint of its inbox open, and therefore runs. Also returns
    /// true if this cannot be determined.
    pub(crate) fn is_alive(&self) -> bool {
        let mut polled = [PollFd::new(&self.sender, PollFlags::empty())];
        match poll(&mut polled, Some(&Timespec::default())) {
            Ok(_) => !polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR),
            Err(_) => true,
        }
    }
}

/// Creates an inbox by which other processes pass QUIC datagrams. Returns its sending endpoint and its receiving
/// endpoint. Each message is received as a whole, and a sender gets an error if the receiving endpoint is closed.
pub(crate) fn new_inbox() -> io::Result<(OwnedFd, OwnedFd)> {
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
        let (way_in, read) = new_inbox().expect("an inbox");
        let process = QuicProcess { number: 1, rank: 1, standing: Standing::Serving, listeners: Vec::new() };
        let reachable = ReachableProcess { process, sender: way_in };
        assert!(reachable.is_alive());
        drop(read);
        assert!(!reachable.is_alive());
    }
}
