//! A UDP socket, as the task of a listener reads and writes it.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll};

use bytes::BytesMut;
use quinn_udp::{RecvMeta, UdpSocketState};

use super::crossing::Datagram;
use crate::transport::Registered;

/// Stretches that one system call fills; each may hold many datagrams of one sender, joined by the kernel.
const BATCH: usize = 8;
/// Largest datagram that is taken, bytes (quinn tells clients so).
const LARGEST: usize = 1472;

/// Bytes of one UDP datagram at most, and so of a buffer of several.
const LONGEST: usize = 65_000;

/// A socket and what the kernel can do for it.
pub(super) struct DatagramSocket {
    socket: Registered,
    state: UdpSocketState,
    pub(super) local: SocketAddr,
}

/// Buffers that datagrams are read into; the same for all sockets of a worker's listener.
pub(super) struct Buffers {
    bytes: Vec<u8>,
    each: usize,
}

impl DatagramSocket {
    /// Takes a bound socket.
    pub(super) fn new(socket: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        let name = rustix::net::getsockname(&socket)?;
        let local = SocketAddr::try_from(name).map_err(|_| io::ErrorKind::Unsupported)?;
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Self { socket: Registered::new(socket)?, state, local })
    }

    /// Datagrams that the kernel cuts one buffer into. The buffer is as long as a datagram may be at most, whatever number of
    /// segments the kernel knows: what is longer it refuses whole.
    pub(super) fn segments(&self) -> usize {
        self.state.max_gso_segments().min(LONGEST / LARGEST)
    }

    /// Whether the network may cut datagrams up, so that their best size cannot be found out.
    pub(super) fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }

    pub(super) fn buffers(&self) -> Buffers {
        let each = LARGEST * self.state.gro_segments();
        Buffers { bytes: vec![0; each * BATCH], each }
    }

    /// Reads what is there, up to a batch; each datagram is given to `take`. How many there were.
    pub(super) fn poll_receive(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut Buffers,
        mut take: impl FnMut(Datagram),
    ) -> Poll<io::Result<usize>> {
        let mut metas = [RecvMeta::default(); BATCH];
        let received = self.socket.poll_input(cx, |socket| {
            let mut rest = &mut buffers.bytes[..];
            let mut stretches: [IoSliceMut<'_>; BATCH] = std::array::from_fn(|_| {
                let (stretch, after) = std::mem::take(&mut rest).split_at_mut(buffers.each);
                rest = after;
                IoSliceMut::new(stretch)
            });
            self.state.recv((&socket).into(), &mut stretches, &mut metas)
        });
        let count = std::task::ready!(received)?;
        let mut datagrams = 0;
        for (meta, stretch) in metas.iter().zip(buffers.bytes.chunks(buffers.each)).take(count) {
            let mut joined = BytesMut::from(&stretch[..meta.len]);
            while !joined.is_empty() {
                let bytes = joined.split_to(meta.stride.clamp(1, joined.len()));
                let ecn = meta.ecn.and_then(|ecn| quinn_proto::EcnCodepoint::from_bits(ecn as u8));
                take(Datagram { bytes, from: meta.addr, to: meta.dst_ip, ecn });
                datagrams += 1;
            }
        }
        Poll::Ready(Ok(datagrams))
    }

    /// Sends `bytes` as the datagrams that they are. What the kernel refuses for good is lost, as on any network.
    pub(super) fn poll_send(
        &self,
        cx: &mut Context<'_>,
        transmit: &quinn_proto::Transmit,
        bytes: &[u8],
    ) -> Poll<()> {
        let transmit = quinn_udp::Transmit {
            destination: transmit.destination,
            ecn: transmit.ecn.and_then(|ecn| quinn_udp::EcnCodepoint::from_bits(ecn as u8)),
            contents: &bytes[..transmit.size],
            segment_size: transmit.segment_size,
            src_ip: transmit.src_ip,
        };
        let sent = self.socket.poll_output(cx, |socket| self.state.send((&socket).into(), &transmit));
        sent.map(drop)
    }
}
