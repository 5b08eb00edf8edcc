//! Listening sockets: created once, retained through reloads and upgrades, passed to workers as descriptors.

mod bind_retry;
mod bind_test;
mod udp;

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use myriad_cli::port_holder;
use myriad_conf::Model;
use myriad_conf::model::{KeepAliveProbe, ListenAddress, ListenConf};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with, sockopt,
};
use socket2::SockRef;
use zeroize::Zeroizing;

use bind_retry::bind_with_retries;
pub(crate) use bind_test::try_all;

use myriad_cli::admin::socket;
use myriad_cli::pidfile::reason;
use myriad_cli::report::ConfigFinding;

/// Default backlog of a listener. nginx's 511 overflows in a burst of connections. The kernel limits it to
/// `net.core.somaxconn`.
const DEFAULT_BACKLOG: u32 = 4096;
/// Prefix of the name of the control socket. Names of listeners start with `unix:`, `quic:`, `udp:` or an IP address.
pub(crate) const CONTROL: &str = "control:";
/// Prefix of the names of listeners for QUIC ([`ListenConf::socket_name`]).
pub(crate) const QUIC: &str = "quic:";

/// Address to listen on. If several `listen` directives have the same address, `conf` is the first of them that sets
/// socket options, otherwise the first.
#[derive(Clone, Debug)]
struct WantedListener {
    name: String,
    conf: ListenConf,
}

/// Sockets of an address: one, or one for each worker thread (with `reuseport`, and always for UDP).
#[derive(Debug)]
struct OpenListener {
    name: String,
    sockets: Vec<OwnedFd>,
    /// True if the current start or reload created the sockets, which are closed if it fails.
    fresh: bool,
}

/// Listening sockets of a configuration.
#[derive(Debug, Default)]
pub(crate) struct ListenerSet {
    all: Vec<OpenListener>,
    /// Secret for QUIC's stateless resets and connection IDs; retained through reloads and upgrades.
    secret: Zeroizing<Vec<u8>>,
}

/// Length of the QUIC secret, in bytes.
const SECRET: usize = 32;

fn random_secret() -> Result<Zeroizing<Vec<u8>>, String> {
    let mut secret = Zeroizing::new(vec![0; SECRET]);
    match rustix::rand::getrandom(secret.as_mut_slice(), rustix::rand::GetRandomFlags::empty()) {
        Ok(SECRET) => Ok(secret),
        outcome => Err(format!("getrandom() failed ({outcome:?})")),
    }
}

impl ListenerSet {
    /// Creates listeners from the sockets of another process, with the QUIC secret `secret`, which may be empty.
    /// Sockets with the same name become one listener. Sets the options of TCP sockets ([`set_for_connections`]).
    pub(crate) fn inherit(
        named: impl Iterator<Item = (String, OwnedFd)>,
        secret: Zeroizing<Vec<u8>>,
    ) -> Self {
        let mut listeners = Self { all: Vec::new(), secret };
        for (name, socket) in named {
            // These options are only valid for TCP, so errors are ignored. An older binary may not have set them.
            let _ = set_for_connections(&socket);
            match listeners.all.iter_mut().find(|listener| listener.name == name) {
                Some(listener) => listener.sockets.push(socket),
                None => listeners.all.push(OpenListener { name, sockets: vec![socket], fresh: false }),
            }
        }
        listeners
    }

    /// Opens the sockets of a configuration; sockets that `current` contains under the same name are reused.
    ///
    /// # Errors
    /// Returns an error for each address that cannot be opened. All new sockets are closed again.
    pub(crate) fn open(model: &Model, threads: usize, current: &Self) -> Result<Self, Vec<ConfigFinding>> {
        let secret = match &current.secret[..] {
            [] => random_secret().map_err(|error| vec![error.into()])?,
            secret => secret.to_vec().into(),
        };
        let mut opened = Self { all: Vec::new(), secret };
        let mut failures = Vec::new();
        for wanted in wanted_listeners(model) {
            let existing = current.all.iter().find(|listener| listener.name == wanted.name);
            let sockets = match existing {
                Some(listener) => listener.sockets.iter().map(OwnedFd::try_clone).collect(),
                None => open_sockets(&wanted.conf, threads),
            };
            match sockets {
                Ok(sockets) => {
                    opened.all.push(OpenListener { name: wanted.name, sockets, fresh: existing.is_none() });
                }
                Err(error) => {
                    failures.push(bind_failure(&wanted, &error));
                }
            }
        }
        if failures.is_empty() {
            return Ok(opened);
        }
        opened.discard_fresh();
        Err(failures)
    }

    /// Adds the control socket with the path `path`. Reuses the socket of `current` with that path, otherwise creates
    /// it. Workers and successors receive it like the sockets of listeners.
    pub(crate) fn add_control(&mut self, path: &Path, current: &Self) -> io::Result<()> {
        let name = format!("{CONTROL}{}", path.display());
        let existing = current.all.iter().find(|listener| listener.name == name);
        let socket = match existing.and_then(|listener| listener.sockets.first()) {
            Some(socket) => socket.try_clone()?,
            None => socket::create(path)?,
        };
        self.all.push(OpenListener { name, sockets: vec![socket], fresh: existing.is_none() });
        Ok(())
    }

    /// Undoes [`ListenerSet::open`]: closes the new sockets and removes their socket files. Reused sockets remain open
    /// in the earlier set.
    pub(crate) fn discard_fresh(self) {
        for listener in self.all.iter().filter(|listener| listener.fresh) {
            listener.unlink();
        }
    }

    /// Closes the sockets of this set, which `next` replaces, and removes the socket files that `next` does not use.
    /// Sockets that `next` shares remain open.
    pub(crate) fn replaced_by(self, next: &Self) {
        for listener in &self.all {
            if !next.all.iter().any(|kept| kept.name == listener.name) {
                listener.unlink();
            }
        }
    }

    /// Removes the socket files. The sockets close with their descriptors.
    pub(crate) fn unlink(&self) {
        self.all.iter().for_each(OpenListener::unlink);
    }

    /// Returns the names of listeners of this set that `others` lacks.
    pub(crate) fn missing_in<'a>(&'a self, others: &'a Self) -> impl Iterator<Item = &'a str> {
        let lacks = |name: &&str| !others.all.iter().any(|other| other.name == *name);
        self.all.iter().map(|listener| listener.name.as_str()).filter(lacks)
    }

    /// Returns the secret for QUIC's stateless resets and connection IDs.
    pub(crate) fn secret(&self) -> &[u8] {
        &self.secret
    }

    /// Returns the names and descriptors of all sockets.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, BorrowedFd<'_>)> {
        self.all.iter().flat_map(|listener| {
            listener.sockets.iter().map(|socket| (listener.name.as_str(), socket.as_fd()))
        })
    }
}

impl OpenListener {
    fn unlink(&self) {
        if let Some(path) = self.name.strip_prefix("unix:").or_else(|| self.name.strip_prefix(CONTROL)) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Returns the error of an address that cannot be bound, in the wording of nginx, followed by advice.
fn bind_failure(wanted: &WantedListener, error: &io::Error) -> ConfigFinding {
    let advice = port_holder::advice(&wanted.conf, error);
    format!("bind() to {} failed ({}){advice}", wanted.name, reason(error)).into()
}

/// Returns the addresses to bind, each once. Of several `listen` directives with the same address, the first one with
/// socket options applies, otherwise the first one.
///
/// A wildcard address replaces other addresses of the same family, port and kind, because the kernel rejects binding
/// both. The worker then distinguishes them by the local address of a connection.
fn wanted_listeners(model: &Model) -> Vec<WantedListener> {
    let mut all: Vec<WantedListener> = Vec::new();
    let listens = model.servers().flat_map(|server| &server.listens);
    for conf in listens {
        let name = conf.socket_name();
        match all.iter_mut().find(|wanted| wanted.name == name) {
            Some(known) if has_options(conf) && !has_options(&known.conf) => known.conf = conf.clone(),
            Some(_) => {}
            None => all.push(WantedListener { name, conf: conf.clone() }),
        }
    }
    let wildcards: Vec<(SocketAddr, PortKind)> = all
        .iter()
        .filter_map(|wanted| Some((ip_address(&wanted.conf)?, port_kind(&wanted.conf))))
        .filter(|(address, _)| is_wildcard(address))
        .collect();
    all.retain(|wanted| {
        let Some(address) = ip_address(&wanted.conf) else { return true };
        let covers = |(wildcard, spoken): &(SocketAddr, PortKind)| {
            wildcard.port() == address.port()
                && wildcard.is_ipv4() == address.is_ipv4()
                && *spoken == port_kind(&wanted.conf)
        };
        is_wildcard(&address) || !wildcards.iter().any(covers)
    });
    all
}

/// Values of the parameters `quic` and `udp` of a `listen`. Sockets with different values may have the same port
/// number.
type PortKind = (bool, bool);

fn port_kind(conf: &ListenConf) -> PortKind {
    (conf.quic, conf.udp)
}

fn ip_address(conf: &ListenConf) -> Option<SocketAddr> {
    match conf.address {
        ListenAddress::Ip(address) => Some(address),
        _ => None,
    }
}

fn is_wildcard(address: &SocketAddr) -> bool {
    address.ip().is_unspecified()
}

fn has_options(conf: &ListenConf) -> bool {
    conf.backlog.is_some()
        || conf.reuseport
        || conf.rcvbuf.is_some()
        || conf.sndbuf.is_some()
        || conf.so_keepalive.is_some()
        || !conf.ipv6only
}

fn open_sockets(conf: &ListenConf, threads: usize) -> io::Result<Vec<OwnedFd>> {
    match &conf.address {
        ListenAddress::Ip(address) if conf.uses_udp() => udp::open_sockets(conf, *address, threads),
        ListenAddress::Ip(address) => open_ip_sockets(conf, *address, threads),
        ListenAddress::Unix(path) => {
            let path = PathBuf::from(std::ffi::OsStr::from_bytes(path));
            Ok(vec![open_unix_socket(conf, &path)?])
        }
        ListenAddress::Host(..) => Err(io::Error::other("the host name was not resolved")),
    }
}

fn open_ip_sockets(conf: &ListenConf, address: SocketAddr, threads: usize) -> io::Result<Vec<OwnedFd>> {
    let bind_patiently = |reuseport| bind_with_retries(|| bind_ip(conf, address, reuseport));
    // First bound without `SO_REUSEPORT`, even with `reuseport`: otherwise another program that also sets it would
    // share the port without an error.
    let probe = bind_patiently(false)?;
    let sockets = if conf.reuseport {
        drop(probe);
        (0..threads.max(1)).map(|_| bind_patiently(true)).collect::<io::Result<Vec<_>>>()?
    } else {
        vec![probe]
    };
    for socket in &sockets {
        listen(socket, backlog(conf))?;
    }
    Ok(sockets)
}

fn bind_ip(conf: &ListenConf, address: SocketAddr, reuseport: bool) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = stream_socket(family)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if reuseport {
        sockopt::set_socket_reuseport(&socket, true)?;
    }
    set_for_connections(&socket)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, conf.ipv6only)?;
    }
    if let Some(size) = conf.rcvbuf {
        sockopt::set_socket_recv_buffer_size(&socket, size as usize)?;
    }
    if let Some(size) = conf.sndbuf {
        sockopt::set_socket_send_buffer_size(&socket, size as usize)?;
    }
    if let Some(probe) = conf.so_keepalive {
        set_keepalive(&socket, probe)?;
    }
    bind(&socket, &address)?;
    Ok(socket)
}

/// Maximum number of response bytes that the kernel buffers per connection before sending them.
///
/// Without this limit it buffers 2.5 MB for a client that does not read, so that a thousand such clients exhaust the
/// TCP memory of the machine (`net.ipv4.tcp_mem`). A response of this length is still written by one system call.
const MOST_UNSENT: u32 = 128 << 10;

/// Sets options that accepted TCP connections inherit from the listener, which saves system calls per connection.
pub(crate) fn set_for_connections(socket: &OwnedFd) -> io::Result<()> {
    sockopt::set_tcp_nodelay(socket, true)?;
    // Fails on kernels without this option.
    let _ = SockRef::from(socket).set_tcp_notsent_lowat(MOST_UNSENT);
    Ok(())
}

fn set_keepalive(socket: &OwnedFd, probe: KeepAliveProbe) -> io::Result<()> {
    sockopt::set_socket_keepalive(socket, probe.on)?;
    if let Some(seconds) = probe.idle_s {
        sockopt::set_tcp_keepidle(socket, Duration::from_secs(seconds.into()))?;
    }
    if let Some(seconds) = probe.interval_s {
        sockopt::set_tcp_keepintvl(socket, Duration::from_secs(seconds.into()))?;
    }
    if let Some(count) = probe.count {
        sockopt::set_tcp_keepcnt(socket, count)?;
    }
    Ok(())
}

fn open_unix_socket(conf: &ListenConf, path: &Path) -> io::Result<OwnedFd> {
    let address = SocketAddrUnix::new(path)?;
    let socket = stream_socket(AddressFamily::UNIX)?;
    if let Err(error) = bind(&socket, &address) {
        if error != Errno::ADDRINUSE || !is_abandoned(path, &address) {
            return Err(error.into());
        }
        fs::remove_file(path)?;
        bind(&socket, &address)?;
    }
    // Accessible by all users, as in nginx: the permissions of the folder control access.
    fs::set_permissions(path, fs::Permissions::from_mode(0o666))?;
    listen(&socket, backlog(conf))?;
    Ok(socket)
}

/// Returns whether a file is a socket on which no process listens, for example because the process was killed. The file
/// type is checked first, because connecting to other types gives the same error.
fn is_abandoned(path: &Path, address: &SocketAddrUnix) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|known| known.file_type().is_socket());
    // The socket is non-blocking: the backlog of a busy listener may be full.
    let refuses = |socket| connect(&socket, address) == Err(Errno::CONNREFUSED);
    is_socket && stream_socket(AddressFamily::UNIX).is_ok_and(refuses)
}

fn stream_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(family, SocketType::STREAM, flags, None)?)
}

fn backlog(conf: &ListenConf) -> i32 {
    i32::try_from(conf.backlog.unwrap_or(DEFAULT_BACKLOG)).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_connections_have_nagle_off() {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let conf = ListenConf::new(ListenAddress::Ip(loopback), myriad_conf::Span::default());
        let sockets = open_ip_sockets(&conf, loopback, 1).expect("a socket");
        let listener = std::net::TcpListener::from(sockets.into_iter().next().expect("one"));
        let client = std::net::TcpStream::connect(listener.local_addr().expect("address")).expect("client");
        listener.set_nonblocking(false).expect("blocking");
        let (accepted, _) = listener.accept().expect("accepted");
        assert!(accepted.nodelay().expect("option"));
        drop(client);
    }
}
