//! UDP socket of a listener's task.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll};

use bytes::BytesMut;
use quinn_udp::{RecvMeta, UdpSocketState};

use super::worker_inboxes::Datagram;
use crate::transport::Registered;

/// Number of buffers filled by one system call; each may contain several datagrams of one sender, joined by the kernel.
const BATCH: usize = 8;
/// Maximum size of a received datagram in bytes, announced to clients by quinn.
const LARGEST: usize = 1472;

/// Maximum size of a UDP datagram in bytes, and of a buffer with several.
const LONGEST: usize = 65_000;

/// Socket and its kernel capabilities.
pub(super) struct DatagramSocket {
    socket: Registered,
    state: UdpSocketState,
    pub(super) local: SocketAddr,
}

/// Receive buffers, shared by all sockets of a worker's listener.
pub(super) struct ReceiveBuffers {
    bytes: Vec<u8>,
    each: usize,
}

impl DatagramSocket {
    /// Wraps a bound socket.
    pub(super) fn new(socket: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        let name = rustix::net::getsockname(&socket)?;
        let local = SocketAddr::try_from(name).map_err(|_| io::ErrorKind::Unsupported)?;
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Self { socket: Registered::new(socket)?, state, local })
    }

    /// Returns the number of datagrams that the kernel can segment from one buffer. The buffer is limited to the
    /// maximum size of one datagram, regardless of the number of segments supported by the kernel, which rejects longer
    /// buffers.
    pub(super) fn segments(&self) -> usize {
        self.state.max_gso_segments().min(LONGEST / LARGEST)
    }

    /// Returns whether the network may fragment datagrams, so that path MTU discovery is not possible.
    pub(super) fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }

    pub(super) fn buffers(&self) -> ReceiveBuffers {
        let each = LARGEST * self.state.gro_segments();
        ReceiveBuffers { bytes: vec![0; each * BATCH], each }
    }

    /// Reads up to one batch and passes each datagram to `take`. Returns the number of datagrams.
    pub(super) fn poll_receive(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut ReceiveBuffers,
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

    /// Sends `bytes` as one or several datagrams. Datagrams rejected by the kernel are lost, as on any network.
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
