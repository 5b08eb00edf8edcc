//! Finds the process that prevents an address from being bound, by the sockets and open files in `/proc`.

mod takeover;

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use myriad_conf::model::{ListenAddress, ListenConf};
use rustix::process::Pid;

use crate::accounts;

/// Maximum number of displayed characters of a process's command line.
const LONGEST_COMMAND: usize = 60;
/// State `TCP_LISTEN` in `/proc/net/tcp`.
const LISTENING: &str = "0A";
/// Flag `SO_ACCEPTCON` in `/proc/net/unix`.
const ACCEPTING: u32 = 0x1_0000;

/// Socket that prevents an address from being bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BoundSocket {
    inode: u64,
    /// User ID of the user that created it; for a Unix socket, the owner of the file. `None` if unknown.
    uid: Option<u32>,
}

/// Process that has a socket open.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SocketHolder {
    pid: u32,
    parent: u32,
    command: String,
}

/// Returns advice about an address that cannot be bound, as lines to append to the error. Empty unless the address is
/// in use, or its port is reserved for root.
pub fn advice(conf: &ListenConf, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => format!("\nhelp: {}", held(conf)),
        io::ErrorKind::PermissionDenied => match conf.address {
            ListenAddress::Ip(address) if address.port() < first_free_port() => format!(
                "\nhelp: ports below {} require root: start as root (the \"user\" directive sets the user of the worker \
                     processes), listen on a higher port, or grant the capability to this binary: setcap cap_net_bind_service=+ep {}",
                first_free_port(),
                std::env::current_exe().map_or("myriad".into(), |path| path.display().to_string())
            ),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

/// Returns the processes that have bound ports 80 and 443, and the steps to replace them, as lines to append to a
/// message; empty if the ports are free.
pub fn web_servers() -> String {
    let mut text = String::new();
    for port in [80, 443] {
        let address = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port);
        let conf = ListenConf::new(ListenAddress::Ip(address), <_>::default());
        if !sockets(&conf).is_empty() {
            let _ = write!(text, "\nport {port}: {}", held(&conf));
        }
    }
    text
}

/// Returns whether the running server with the process ID `pid`, or its child, has bound the address. If no process
/// that has the socket open is visible, returns whether the socket belongs to the user of the server.
pub fn is_held_by(pid: Pid, conf: &ListenConf) -> bool {
    let pid = pid.as_raw_nonzero().get().unsigned_abs();
    let Ok(of_server) = fs::metadata(format!("/proc/{pid}")).map(|known| known.uid()) else { return false };
    sockets(conf).iter().any(|socket| {
        let processes = processes(socket.inode);
        let is_ours = |process: &SocketHolder| process.pid == pid || process.parent == pid;
        processes.iter().any(is_ours) || (processes.is_empty() && socket.uid == Some(of_server))
    })
}

/// Returns a sentence about the process that has bound an address, for a message.
fn held(conf: &ListenConf) -> String {
    let look = lookup_command(conf);
    if let ListenAddress::Unix(path) = &conf.address
        && let Ok(known) = fs::symlink_metadata(std::ffi::OsStr::from_bytes(path))
        && !known.file_type().is_socket()
    {
        return "a file that is not a socket exists at this path: remove it, or use another path".to_owned();
    }
    let sockets = sockets(conf);
    let Some(socket) = sockets.first() else {
        return format!("the process that uses the address is not visible to this user; run as root: {look}");
    };
    let mut processes = processes(socket.inode);
    // The parent is listed first: workers have inherited the socket from it.
    let pids: Vec<u32> = processes.iter().map(|process| process.pid).collect();
    processes.sort_by_key(|process| (pids.contains(&process.parent), process.pid));
    match (processes.as_slice(), socket.uid) {
        ([first, others @ ..], _) => {
            let others = match others.len() {
                0 => String::new(),
                1 => " and one child process".to_owned(),
                more => format!(" and {more} child processes"),
            };
            let takeover = takeover::advice_for(&first.command).unwrap_or_default();
            format!(
                "the address is in use by process {} ({}){others}: stop it, or listen on another address{takeover}",
                first.pid, first.command
            )
        }
        ([], Some(uid)) => {
            let user = accounts::name_of(uid).map_or(uid.to_string(), |name| format!("{name} (uid {uid})"));
            format!(
                "the address is in use by a process of user {user}; to identify it, run as that user or as root: {look}"
            )
        }
        ([], None) => {
            format!("the process that uses the address is not visible to this user; run as root: {look}")
        }
    }
}

/// Returns a shell command that shows the process that has bound an address.
fn lookup_command(conf: &ListenConf) -> String {
    match &conf.address {
        ListenAddress::Ip(address) if conf.uses_udp() => format!("ss -lunp 'sport = :{}'", address.port()),
        ListenAddress::Ip(address) => format!("ss -ltnp 'sport = :{}'", address.port()),
        ListenAddress::Host(_, port) => format!("ss -ltnp 'sport = :{port}'"),
        ListenAddress::Unix(path) => format!("ss -lxp src '{}'", shown(path)),
    }
}

/// Returns the sockets that prevent an address from being bound, the most likely one first; empty for a host name.
fn sockets(conf: &ListenConf) -> Vec<BoundSocket> {
    match &conf.address {
        ListenAddress::Ip(address) => {
            let tables = if conf.uses_udp() { ["udp", "udp6"] } else { ["tcp", "tcp6"] };
            let texts: Vec<String> = tables.iter().map(|table| read(&format!("/proc/net/{table}"))).collect();
            internet_sockets(&texts, *address)
        }
        ListenAddress::Unix(path) => {
            let path = Path::new(std::ffi::OsStr::from_bytes(path));
            let uid = fs::metadata(path).ok().map(|known| known.uid());
            let inode = unix_socket(&read("/proc/net/unix"), path);
            inode.map(|inode| BoundSocket { inode, uid }).into_iter().collect()
        }
        ListenAddress::Host(..) => Vec::new(),
    }
}

fn read(path: &str) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// Returns the sockets in the tables of `/proc/net` (such as `tcp`) that conflict with an address. Listening sockets
/// precede others, and sockets with the same address precede wildcards.
fn internet_sockets(tables: &[String], wanted: SocketAddr) -> Vec<BoundSocket> {
    let mut found: Vec<((bool, bool), BoundSocket)> = Vec::new();
    for line in tables.iter().flat_map(|table| table.lines().skip(1)) {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, local, _, state, _, _, _, uid, _, inode, ..] = fields[..] else { continue };
        let Some(address) = address(local).filter(|address| conflicts(*address, wanted)) else { continue };
        // A closing connection belongs to no process; its inode is 0.
        let Some(inode) = inode.parse().ok().filter(|inode| *inode != 0) else { continue };
        let is_other = address.ip().to_canonical() != wanted.ip().to_canonical();
        found.push(((state != LISTENING, is_other), BoundSocket { inode, uid: uid.parse().ok() }));
    }
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, socket)| socket).collect()
}

fn conflicts(one: SocketAddr, other: SocketAddr) -> bool {
    let (a, b) = (one.ip().to_canonical(), other.ip().to_canonical());
    one.port() == other.port() && (a == b || a.is_unspecified() || b.is_unspecified())
}

/// Parses an address such as `0100007F:1F90`: the IP address in 32-bit words of the machine's byte order, and the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| Some(u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (part, at) in bytes.chunks_exact_mut(4).zip([0, 8, 16, 24]) {
                part.copy_from_slice(&word(at)?);
            }
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// Returns the inode of the socket that listens on a path, according to the table `/proc/net/unix`; `None` if none
/// does.
fn unix_socket(table: &str, path: &Path) -> Option<u64> {
    let path = path.to_str()?;
    table.lines().skip(1).find_map(|line| {
        // The path is the rest of the line and may contain spaces.
        let (head, of) = line.split_once('/')?;
        let fields: Vec<&str> = head.split_ascii_whitespace().collect();
        let [_, _, _, flags, _, _, inode] = fields[..] else { return None };
        let accepts = u32::from_str_radix(flags, 16).ok()? & ACCEPTING != 0;
        (accepts && path.strip_prefix('/') == Some(of)).then(|| inode.parse().ok())?
    })
}

/// Returns the processes that have a socket open, as far as their open files can be read.
fn processes(inode: u64) -> Vec<SocketHolder> {
    let link = format!("socket:[{inode}]");
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| has_open(*pid, &link)).filter_map(process).collect()
}

fn has_open(pid: u32, link: &str) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|to| to.as_os_str() == link))
}

fn process(pid: u32) -> Option<SocketHolder> {
    let status = read(&format!("/proc/{pid}/status"));
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let parent = field("PPid:")?.parse().ok()?;
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line: Vec<u8> = line.iter().map(|byte| if *byte == 0 { b' ' } else { *byte }).collect();
    let command = match shown(line.trim_ascii()) {
        nothing if nothing.is_empty() => field("Name:").unwrap_or("?").to_owned(),
        command => command,
    };
    Some(SocketHolder { pid, parent, command })
}

/// Converts the command line of another program to text for the terminal, shortened to [`LONGEST_COMMAND`].
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut text: Vec<char> = text.chars().filter(|c| !c.is_control()).collect();
    if text.len() > LONGEST_COMMAND {
        text.truncate(LONGEST_COMMAND);
        text.push('…');
    }
    text.into_iter().collect()
}

/// Returns the lowest port that users without privileges may bind.
fn first_free_port() -> u16 {
    read("/proc/sys/net/ipv4/ip_unprivileged_port_start").trim().parse().unwrap_or(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text of `/proc/net/tcp` on a little-endian machine; all supported machines are little-endian.
    const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
        0: 0100007F:1F90 0200007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 11 1 0000000000000000\n\
        1: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 22 1 0000000000000000\n\
        2: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000    33        0 33 1 0000000000000000\n\
        3: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000    33        0 44 1 0000000000000000\n\
        4: 0100007F:1F90 0200007F:D432 06 00000000:00000000 00:00000000 00000000     0        0 0 1 0000000000000000\n";

    #[test]
    #[cfg(target_endian = "little")]
    fn listener_at_exact_address_precedes_wildcard_ones() {
        let found = |wanted: &str| -> Vec<(u64, Option<u32>)> {
            let sockets = internet_sockets(&[TCP.to_owned()], wanted.parse().expect("an address"));
            sockets.iter().map(|socket| (socket.inode, socket.uid)).collect()
        };
        assert_eq!(found("127.0.0.1:8080"), [(33, Some(33)), (22, Some(0)), (11, Some(1000))]);
        assert_eq!(found("127.0.0.2:8080"), [(22, Some(0))]);
        assert_eq!(found("127.0.0.1:81"), []);
        assert_eq!(address("00000000000000000000000001000000:0050"), "[::1]:80".parse().ok());
        assert_eq!(
            address("0000000000000000FFFF00000100007F:0050").map(|address| address.ip().to_canonical()),
            "127.0.0.1".parse().ok()
        );
        for nonsense in ["", ":", "01:50", "0100007G:0050", "0100007F"] {
            assert_eq!(address(nonsense), None);
        }
    }

    #[test]
    fn unix_listener_is_found_by_path_and_connected_sockets_are_not() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0: 00000003 00000000 00000000 0001 03 7 /run/php fpm.sock\n\
            1: 00000002 00000000 00010000 0001 01 8 /run/php fpm.sock\n\
            2: 00000002 00000000 00010000 0001 01 9\n";
        assert_eq!(unix_socket(table, Path::new("/run/php fpm.sock")), Some(8));
        assert_eq!(unix_socket(table, Path::new("/run/php")), None);
    }

    #[test]
    fn this_process_is_found_by_its_socket_and_what_it_is_called_is_harmless() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a socket");
        let conf = ListenConf::new(ListenAddress::Ip(socket.local_addr().expect("address")), <_>::default());
        assert!(is_held_by(rustix::process::getpid(), &conf));
        let sentence = held(&conf);
        assert!(sentence.contains(&format!("process {} (", std::process::id())), "{sentence}");
        let datagrams = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let address = datagrams.local_addr().expect("address");
        for (quic, udp) in [(true, false), (false, true)] {
            let conf = ListenConf::new(ListenAddress::Ip(address), <_>::default());
            let conf = ListenConf { quic, udp, ..conf };
            assert!(held(&conf).contains(&format!("process {} (", std::process::id())));
            assert!(lookup_command(&conf).starts_with("ss -lunp"));
        }
        assert_eq!(shown(b"a\x1b[31mb\nc"), "a[31mbc");
        assert_eq!(shown(&[b'x'; 500]).chars().count(), LONGEST_COMMAND + 1);
    }
}
