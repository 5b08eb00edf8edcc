//! Test of addresses by `-t`: each is bound and closed again.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use myriad_conf::Model;
use myriad_conf::model::{ListenAddress, ListenConf};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, bind};
use rustix::process::Pid;

use super::{bind_failure, bind_ip, is_abandoned, stream_socket, udp, wanted_listeners};
use myriad_cli::port_holder;
use myriad_cli::report::ConfigFinding;

/// Binds each address of a configuration and closes it again. Returns an error for each address that cannot be bound.
///
/// An address that the process `running` has bound counts as free: that process already runs this configuration, and a
/// reload reuses its sockets. As at a start, addresses are bound without `SO_REUSEPORT`, so they are never shared with
/// another program.
pub(crate) fn try_all(model: &Model, running: Option<Pid>) -> Vec<ConfigFinding> {
    let failed = |conf: &ListenConf| {
        let error = try_one(conf).err()?;
        let is_ours = matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied)
            && running.is_some_and(|pid| port_holder::is_held_by(pid, conf));
        (!is_ours).then_some(error)
    };
    wanted_listeners(model)
        .iter()
        .filter_map(|wanted| failed(&wanted.conf).map(|error| bind_failure(wanted, &error)))
        .collect()
}

fn try_one(conf: &ListenConf) -> io::Result<()> {
    match &conf.address {
        ListenAddress::Ip(address) if conf.uses_udp() => udp::bind_socket(conf, *address, false).map(drop),
        ListenAddress::Ip(address) => bind_ip(conf, *address, false).map(drop),
        ListenAddress::Unix(path) => try_unix(Path::new(std::ffi::OsStr::from_bytes(path))),
        ListenAddress::Host(..) => Ok(()),
    }
}

/// Tests the path of a Unix socket. A socket file without a listener counts as free, because a start replaces it; the
/// test leaves it unchanged.
fn try_unix(path: &Path) -> io::Result<()> {
    let address = SocketAddrUnix::new(path)?;
    match bind(&stream_socket(AddressFamily::UNIX)?, &address) {
        Ok(()) => std::fs::remove_file(path),
        Err(Errno::ADDRINUSE) if is_abandoned(path, &address) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn udp_address_is_tested_with_a_udp_socket() {
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").expect("a TCP port");
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").expect("a UDP port");
        let listen = |address, quic, udp| {
            let span = myriad_conf::Span::default();
            try_one(&ListenConf { quic, udp, ..ListenConf::new(ListenAddress::Ip(address), span) })
        };
        let (by_tcp, by_udp) = (tcp.local_addr().expect("address"), udp.local_addr().expect("address"));
        for (quic, udp) in [(true, false), (false, true)] {
            assert!(listen(by_tcp, quic, udp).is_ok());
            let error = listen(by_udp, quic, udp).expect_err("an address in use");
            assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        }
    }
}
