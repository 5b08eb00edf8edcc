//! UDP socket of a QUIC listener.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll};

use bytes::BytesMut;
use quinn_udp::{RecvMeta, UdpSocketState};

use super::worker_inboxes::Datagram;
use crate::transport::Registered;

/// Number of receive buffers filled by one system call. A buffer can contain several datagrams of one sender (GRO).
const BATCH: usize = 8;
/// Maximum size of a received QUIC datagram in bytes, announced to clients by quinn.
const LARGEST: usize = 1472;

/// Maximum size in bytes of a buffer to send, which the kernel can split into several datagrams (GSO).
const LONGEST: usize = 65_000;

/// Bound UDP socket with its kernel capabilities (GSO, GRO, ECN).
pub(super) struct DatagramSocket {
    socket: Registered,
    state: UdpSocketState,
    pub(super) local: SocketAddr,
}

/// Receive buffers, shared by all sockets of a listener.
pub(super) struct ReceiveBuffers {
    bytes: Vec<u8>,
    /// Size of the buffer for each receive operation of a batch, in bytes.
    each: usize,
}

impl DatagramSocket {
    /// Wraps a bound socket and sets it to non-blocking mode.
    pub(super) fn new(socket: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        let name = rustix::net::getsockname(&socket)?;
        let local = SocketAddr::try_from(name).map_err(|_| io::ErrorKind::Unsupported)?;
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Self { socket: Registered::new(socket)?, state, local })
    }

    /// Returns the maximum number of datagrams per send that the kernel splits from one buffer. Limited so that the
    /// buffer is not larger than the maximum UDP datagram, because the kernel rejects longer buffers.
    pub(super) fn segments(&self) -> usize {
        self.state.max_gso_segments().min(LONGEST / LARGEST)
    }

    /// Returns true if the network may fragment datagrams, which excludes path MTU discovery.
    pub(super) fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }

    pub(super) fn buffers(&self) -> ReceiveBuffers {
        let each = LARGEST * self.state.gro_segments();
        ReceiveBuffers { bytes: vec![0; each * BATCH], each }
    }

    /// Receives up to one batch of datagrams and passes each to `take`. Returns their number; pending if there are
    /// none.
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

    /// Sends `bytes` as one or several datagrams; pending if the socket is full. Errors are ignored: such datagrams
    /// count as lost.
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
