//! A bound socket of UDP whose datagrams are nobody's protocol: whoever serves them reads and writes them (`stream`).

use std::future::poll_fn;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use quinn_udp::{RecvMeta, Transmit, UdpSocketState};

use crate::transport::Registered;

/// Bytes that one read takes: the longest datagram, or many of one client that the kernel has joined.
const LONGEST: usize = 65_536;

/// The socket, and what the kernel can do for it.
pub struct UdpSocket {
    socket: Registered,
    state: UdpSocketState,
    local: SocketAddr,
}

/// A datagram as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Its sender.
    pub from: SocketAddr,
    /// The address of this machine that it was sent to.
    pub to: SocketAddr,
}

impl UdpSocket {
    /// Takes a bound socket.
    pub fn new(socket: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        let name = rustix::net::getsockname(&socket)?;
        let local = SocketAddr::try_from(name).map_err(|_| io::ErrorKind::Unsupported)?;
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Self { socket: Registered::new(socket)?, state, local })
    }

    /// Waits for datagrams, and gives each to `take`. `buffer` is kept by the caller from one call to the next.
    pub async fn receive(&self, buffer: &mut Vec<u8>, mut take: impl FnMut(Arrival<'_>)) -> io::Result<()> {
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
            take(Arrival { bytes: b"", from: meta.addr, to });
        }
        for bytes in buffer[..meta.len].chunks(meta.stride.max(1)) {
            take(Arrival { bytes, from: meta.addr, to });
        }
        Ok(())
    }

    /// Sends a datagram from the address that its receiver has sent to. What the kernel refuses is lost, as on any network.
    pub async fn send(&self, bytes: &[u8], to: SocketAddr, from: SocketAddr) -> io::Result<()> {
        let src_ip = Some(from.ip()).filter(|_| self.local.ip().is_unspecified());
        let transmit = Transmit { destination: to, ecn: None, contents: bytes, segment_size: None, src_ip };
        poll_fn(|cx| self.socket.poll_output(cx, |socket| self.state.try_send((&socket).into(), &transmit)))
            .await
    }
}
