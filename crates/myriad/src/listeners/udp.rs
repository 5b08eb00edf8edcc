//! UDP sockets of QUIC and of `stream`: one for each worker thread, so that a datagram wakes only the thread that
//! handles it.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use myriad_conf::model::ListenConf;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};

use super::bind_retry::bind_with_retries;

/// Size of the receive buffer of a UDP socket without `rcvbuf=`, and of the send buffer without `sndbuf=`, in bytes: a
/// burst of handshakes is some thousand datagrams. The kernel limits the send buffer to `net.core.wmem_max`, and
/// without privilege the receive buffer to `net.core.rmem_max`.
const BUFFER: usize = 4 << 20;

/// Creates the UDP sockets of an address, one for each thread even without `reuseport`: a single socket would wake all
/// threads for every datagram.
pub(super) fn open_sockets(
    conf: &ListenConf,
    address: SocketAddr,
    threads: usize,
) -> io::Result<Vec<OwnedFd>> {
    // First bound without `SO_REUSEPORT`: otherwise another program that also sets it would receive a part of the
    // clients without an error.
    let probe = bind_with_retries(|| bind_socket(conf, address, false))?;
    if threads <= 1 {
        return Ok(vec![probe]);
    }
    drop(probe);
    (0..threads).map(|_| bind_with_retries(|| bind_socket(conf, address, true))).collect()
}

pub(super) fn bind_socket(conf: &ListenConf, address: SocketAddr, reuseport: bool) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::DGRAM, flags, None)?;
    if reuseport {
        sockopt::set_socket_reuseport(&socket, true)?;
    }
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, conf.ipv6only)?;
    }
    let receive = conf.rcvbuf.map_or(BUFFER, |size| size as usize);
    if sockopt::set_socket_recv_buffer_size_force(&socket, receive).is_err() {
        sockopt::set_socket_recv_buffer_size(&socket, receive)?;
    }
    sockopt::set_socket_send_buffer_size(&socket, conf.sndbuf.map_or(BUFFER, |size| size as usize))?;
    bind(&socket, &address)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_conf::model::ListenAddress;

    fn conf(address: SocketAddr) -> ListenConf {
        let mut conf = ListenConf::new(ListenAddress::Ip(address), myriad_conf::Span::default());
        conf.quic = true;
        conf
    }

    #[test]
    fn each_thread_has_udp_socket_and_other_programs_cannot_bind_address() {
        let free = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
        let address = free.local_addr().expect("address");
        drop(free);
        let sockets = open_sockets(&conf(address), address, 3).expect("sockets");
        assert_eq!(sockets.len(), 3);
        let error = open_sockets(&conf(address), address, 3).expect_err("a second program");
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    }
}
