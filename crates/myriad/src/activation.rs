//! Sockets that the init system opens for this server (`sd_listen_fds(3)`).
//!
//! The init system leaves these sockets open while the server restarts, so that clients wait briefly instead of being
//! refused.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{SocketAddrAny, SocketAddrUnix, SocketType, getsockname, sockopt};

use crate::listeners::set_for_connections;

/// Environment variables by which the init system passes sockets (systemd's sd_listen_fds(3)). They are removed from
/// the environment of child processes.
pub(crate) const VARIABLES: [&str; 3] = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"];

/// Returns the sockets passed to this process, each with the name that a `listen` with its address has.
///
/// # Errors
/// Returns a sentence if the variables are invalid or a descriptor is not a listening TCP or Unix domain socket.
pub(crate) fn sockets() -> Result<Vec<(String, OwnedFd)>, String> {
    let handed = sd_listen_fds::get().map_err(|_| "LISTEN_PID or LISTEN_FDS is not a number".to_owned())?;
    handed.into_iter().map(|(_, socket)| prepared_socket(socket.into_std())).collect()
}

/// Sets the options of a listening socket and returns it with its listener name. Returns an error text if it is not a
/// listening TCP or Unix domain socket, or an option cannot be set.
fn prepared_socket(socket: OwnedFd) -> Result<(String, OwnedFd), String> {
    let failed = |error: io::Error| format!("a socket from the init system cannot be used: {error}");
    fcntl_setfd(&socket, FdFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
    let kind = sockopt::socket_type(&socket).map_err(|error| failed(error.into()))?;
    let address = getsockname(&socket).map_err(|error| failed(error.into()))?;
    let name = listener_name(&address)
        .ok_or_else(|| failed(io::Error::other("its address family is not supported")))?;
    let listens = kind == SocketType::STREAM && sockopt::socket_acceptconn(&socket).unwrap_or(false);
    if !listens {
        let text = "it does not listen for connections; use ListenStream= in the socket unit; datagram sockets (QUIC) are opened by \
             Myriad itself";
        return Err(failed(io::Error::other(format!("{name}: {text}"))));
    }
    let flags = fcntl_getfl(&socket).map_err(|error| failed(error.into()))?;
    fcntl_setfl(&socket, flags | OFlags::NONBLOCK).map_err(|error| failed(error.into()))?;
    if !name.starts_with("unix:") {
        set_for_connections(&socket).map_err(failed)?;
    }
    Ok((name, socket))
}

fn listener_name(address: &SocketAddrAny) -> Option<String> {
    if let Ok(address) = SocketAddr::try_from(address.clone()) {
        return Some(address.to_string());
    }
    let address = SocketAddrUnix::try_from(address.clone()).ok()?;
    let path = PathBuf::from(std::ffi::OsString::from(address.path()?.to_string_lossy().into_owned()));
    Some(format!("unix:{}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};

    #[test]
    fn socket_has_the_name_of_its_listen() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let address = listener.local_addr().expect("an address");
        let (name, socket) = prepared_socket(listener.into()).expect("settled");
        assert_eq!(name, address.to_string());
        assert!(fcntl_getfl(&socket).expect("flags").contains(OFlags::NONBLOCK));
        assert!(rustix::io::fcntl_getfd(&socket).expect("flags").contains(FdFlags::CLOEXEC));
    }

    #[test]
    fn socket_that_cannot_accept_is_rejected_with_remedy() {
        let udp = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        assert!(prepared_socket(udp.into()).expect_err("datagrams").contains("ListenStream="));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let connected = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
        assert!(prepared_socket(connected.into()).is_err(), "a connection");
        let file = std::fs::File::open("/dev/null").expect("a file");
        assert!(prepared_socket(file.into()).is_err(), "a file");
    }
}
