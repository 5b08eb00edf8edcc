//! Kernel statistics of a TCP connection (`$tcpinfo_*`). They are queried over `NETLINK_SOCK_DIAG`, because
//! `getsockopt(TCP_INFO)` has no safe wrapper.
//!
//! The layouts are defined in `linux/netlink.h`, `linux/inet_diag.h` and `linux/tcp.h`.

use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with,
};

/// Statistics of a TCP connection from the kernel (`$tcpinfo_…`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    /// Smoothed round-trip time, in microseconds.
    pub rtt: u32,
    /// Round-trip time variation, in microseconds.
    pub rttvar: u32,
    /// Congestion window in segments.
    pub snd_cwnd: u32,
    /// Receive buffer space in bytes, as estimated by the kernel.
    pub rcv_space: u32,
    /// Total number of bytes acknowledged by the peer; `None` for kernels before 4.1.
    pub bytes_acked: Option<u64>,
}

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const INET_DIAG_INFO: u16 = 2;
const TCP: u8 = 6;
/// Size of `nlmsghdr` in bytes.
const HEADER: usize = 16;
/// Size of `inet_diag_req_v2` in bytes. `ANSWER` is the size of `inet_diag_msg`.
const REQUEST: usize = 56;
const ANSWER: usize = 72;

thread_local! {
    /// Netlink socket of this thread for queries, opened on first use and reused, so that a query costs two system
    /// calls.
    static SOCKET: Cell<Option<OwnedFd>> = const { Cell::new(None) };
}

impl TcpInfo {
    /// Returns the statistics of the connection between two addresses; `None` if the query fails or there is none.
    pub(crate) fn of(local: SocketAddr, peer: SocketAddr) -> Option<Self> {
        let socket = SOCKET.take().or_else(open)?;
        let mut answer = [0; 2048];
        let length = query(&socket, &request(local, peer), &mut answer).ok()?;
        // The socket is reused only after success: a delayed response on it could be taken for that of a later query.
        SOCKET.set(Some(socket));
        let answer = answer.get(..length)?;
        // For a closed connection the kernel returns the listening socket.
        let peers_port = answer.get(HEADER + 6..HEADER + 8)?;
        if peers_port == peer.port().to_be_bytes() { parse_response(answer) } else { None }
    }
}

fn open() -> Option<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(SOCK_DIAG)).ok()?;
    connect(&socket, &SocketAddrNetlink::new(0, 0)).ok()?;
    Some(socket)
}

/// Sends a query to the kernel and returns the length of the response, which the kernel has queued before `send`
/// returns.
fn query(socket: &OwnedFd, question: &[u8], answer: &mut [u8]) -> rustix::io::Result<usize> {
    send(socket, question, SendFlags::empty())?;
    recv(socket, answer, RecvFlags::empty()).map(|(_, length)| length)
}

fn request(local: SocketAddr, peer: SocketAddr) -> Vec<u8> {
    let mut text = Vec::with_capacity(HEADER + REQUEST);
    text.extend_from_slice(&((HEADER + REQUEST) as u32).to_ne_bytes());
    text.extend_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    text.extend_from_slice(&NLM_F_REQUEST.to_ne_bytes());
    text.extend_from_slice(&[0; 8]);
    let family = if peer.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    text.extend_from_slice(&[family.as_raw() as u8, TCP, 1 << (INET_DIAG_INFO - 1), 0]);
    text.extend_from_slice(&u32::MAX.to_ne_bytes());
    text.extend_from_slice(&local.port().to_be_bytes());
    text.extend_from_slice(&peer.port().to_be_bytes());
    for address in [local.ip(), peer.ip()] {
        match address {
            IpAddr::V4(ip) => text.extend([ip.octets(), [0; 4], [0; 4], [0; 4]].concat()),
            IpAddr::V6(ip) => text.extend_from_slice(&ip.octets()),
        }
    }
    // Any interface, no cookie.
    text.extend_from_slice(&0u32.to_ne_bytes());
    text.extend_from_slice(&[0xff; 8]);
    text
}

/// Returns the `tcp_info` attribute of a response; `None` if it is missing or malformed.
fn parse_response(answer: &[u8]) -> Option<TcpInfo> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let mut attributes = answer.get(HEADER + ANSWER..).filter(|_| kind == SOCK_DIAG_BY_FAMILY)?;
    while attributes.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes(attributes[..2].try_into().ok()?));
        let kind = u16::from_ne_bytes(attributes[2..4].try_into().ok()?);
        let info = attributes.get(4..length)?;
        if kind == INET_DIAG_INFO {
            let number = |at: usize| Some(u32::from_ne_bytes(info.get(at..at + 4)?.try_into().ok()?));
            let bytes_acked =
                info.get(120..128).and_then(|bytes| bytes.try_into().ok()).map(u64::from_ne_bytes);
            return Some(TcpInfo {
                rtt: number(68)?,
                rttvar: number(72)?,
                snd_cwnd: number(80)?,
                rcv_space: number(96)?,
                bytes_acked,
            });
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn tcp_info_is_returned_for_open_connection_only() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).expect("a port");
            let client =
                TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
            let (server, peer) = listener.accept().expect("a connection");
            let local = server.local_addr().expect("an address");
            let info = TcpInfo::of(local, peer).expect("the kernel's figures");
            assert!(info.snd_cwnd > 0 && info.rcv_space > 0, "{info:?}");
            let before = info.bytes_acked.expect("a kernel of these days");
            std::io::Write::write_all(&mut &server, b"hello").expect("room");
            std::io::Read::read_exact(&mut &client, &mut [0; 5]).expect("five bytes");
            assert_eq!(TcpInfo::of(local, peer).and_then(|info| info.bytes_acked), Some(before + 5));
            let mut nobody = peer;
            nobody.set_port(1);
            assert_eq!(TcpInfo::of(local, nobody), None);
            // A socket that failed is not reused.
            SOCKET.set(Some(std::fs::File::open("/dev/null").expect("a file").into()));
            assert_eq!(TcpInfo::of(local, peer), None);
            assert_eq!(TcpInfo::of(local, peer).and_then(|info| info.bytes_acked), Some(before + 5));
            drop(client);
        }
    }

    #[test]
    fn truncated_netlink_response_yields_nothing() {
        let mut answer = vec![0; HEADER + ANSWER];
        answer[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        answer.extend_from_slice(&[200, 0, 2, 0, 1, 2, 3]);
        for end in 0..=answer.len() {
            assert_eq!(parse_response(&answer[..end]), None);
        }
        answer.extend_from_slice(&[0, 0, 9, 0]);
        assert_eq!(parse_response(&answer), None);
    }
}
