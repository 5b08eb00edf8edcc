//! UDP socket of the stream module.

use std::future::poll_fn;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use quinn_udp::{RecvMeta, Transmit, UdpSocketState};

use crate::transport::Registered;

/// Size of the receive buffer in bytes: a datagram of maximum length, or several of one client joined by the kernel
/// (GRO).
const LONGEST: usize = 65_536;

/// Bound UDP socket with its kernel capabilities.
pub struct UdpSocket {
    socket: Registered,
    state: UdpSocketState,
    local: SocketAddr,
}

/// Datagram received from a client, with its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedDatagram<'a> {
    /// Content of the datagram (its payload).
    pub bytes: &'a [u8],
    /// Address of the sender.
    pub from: SocketAddr,
    /// Local destination address.
    pub to: SocketAddr,
}

impl UdpSocket {
    /// Wraps a bound socket and sets it to non-blocking mode.
    pub fn new(socket: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        let name = rustix::net::getsockname(&socket)?;
        let local = SocketAddr::try_from(name).map_err(|_| io::ErrorKind::Unsupported)?;
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Self { socket: Registered::new(socket)?, state, local })
    }

    /// Waits for datagrams, one or several of the same sender, and passes each to `take`. `buffer` should be reused for
    /// the next call.
    pub async fn receive(
        &self,
        buffer: &mut Vec<u8>,
        mut take: impl FnMut(ReceivedDatagram<'_>),
    ) -> io::Result<()> {
        buffer.resize(LONGEST, 0);
        let mut metas = [RecvMeta::default(); 1];
        let received = poll_fn(|cx| {
            self.socket.poll_input(cx, |socket| {
                self.state.recv((&socket).into(), &mut [IoSliceMut::new(buffer)], &mut metas)
            })
        });
        received.await?;
        let [meta] = metas;
        let to = SocketAddr::new(meta.dst_ip.unwrap_or(self.local.ip()), self.local.port());
        if meta.len == 0 {
            take(ReceivedDatagram { bytes: b"", from: meta.addr, to });
        }
        for bytes in buffer[..meta.len].chunks(meta.stride.max(1)) {
            take(ReceivedDatagram { bytes, from: meta.addr, to });
        }
        Ok(())
    }

    /// Sends a datagram. `from` must be the local address to which the client has sent; it becomes the source address.
    pub async fn send(&self, bytes: &[u8], to: SocketAddr, from: SocketAddr) -> io::Result<()> {
        let src_ip = Some(from.ip()).filter(|_| self.local.ip().is_unspecified());
        let transmit = Transmit { destination: to, ecn: None, contents: bytes, segment_size: None, src_ip };
        poll_fn(|cx| self.socket.poll_output(cx, |socket| self.state.try_send((&socket).into(), &transmit)))
            .await
    }
}
