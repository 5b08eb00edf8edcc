//! Control socket as a file: its path, its creation, connections to it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use myriad_conf::Model;
use myriad_conf::model::ControlSocket;
use rustix::fs::{Mode, OFlags};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};

use crate::paths::ServerPaths;

/// Maximum number of attempts to create the socket: a killed server may need a moment to close its socket.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of connections that wait to be accepted.
const BACKLOG: i32 = 16;
/// Maximum length of a path as an address, in bytes (`sun_path` without its NUL byte).
const LONGEST_ADDRESS: usize = 107;

/// Returns the path of the control socket of a configuration, and true if the directive `control_socket` is present;
/// `None` for `control_socket off`.
pub fn path(model: &Model, paths: &ServerPaths) -> Option<(PathBuf, bool)> {
    match &model.main.control_socket {
        ControlSocket::Off => None,
        ControlSocket::At(path) => Some((paths.complete(path.bytes()), true)),
        ControlSocket::BesidePid => Some((path_for_pid_file(&paths.complete(model.main.pid.bytes())), false)),
    }
}

/// Returns the default path of the control socket, next to the pid file: `nginx.sock` for `nginx.pid`. To a name
/// without the extension `.pid`, `.sock` is appended.
pub fn path_for_pid_file(pid: &Path) -> PathBuf {
    match pid.extension() {
        Some(extension) if extension == "pid" => pid.with_extension("sock"),
        _ => {
            let mut name = pid.as_os_str().to_owned();
            name.push(".sock");
            PathBuf::from(name)
        }
    }
}

/// Creates the listening socket, which only its owner can connect to.
///
/// A socket file left by a crash is replaced. Returns an error if another process listens on the socket, or if the path
/// is a file of another type.
pub fn create(path: &Path) -> io::Result<OwnedFd> {
    let mut attempt = 1;
    loop {
        match check_free(path) {
            Ok(()) => break,
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && attempt < ATTEMPTS => {
                attempt += 1;
                std::thread::sleep(PAUSE);
            }
            Err(error) => return Err(error),
        }
    }
    // The socket is created under a temporary name, then renamed, which replaces an old file atomically.
    let mut aside = OsString::from(".");
    aside.push(path.file_name().unwrap_or_default());
    aside.push(format!(".{}", std::process::id()));
    let aside = path.with_file_name(aside);
    let _ = fs::remove_file(&aside);
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let address = SocketAddress::of(&aside)?;
    // Set before the socket is bound, so that the file never permits more.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &address.address)?;
    let named = listen(&socket, BACKLOG).map_err(io::Error::from).and_then(|()| fs::rename(&aside, path));
    if let Err(error) = named {
        let _ = fs::remove_file(&aside);
        return Err(error);
    }
    Ok(socket)
}

/// Checks that the path does not exist, or is a socket on which no process listens; otherwise returns an error.
fn check_free(path: &Path) -> io::Result<()> {
    let Ok(file) = fs::symlink_metadata(path) else { return Ok(()) };
    if !file.file_type().is_socket() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "a file that is not a socket exists at this path",
        ));
    }
    match connect_to_path(path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => {
            Ok(())
        }
        Err(error) => Err(error),
        Ok(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "another server listens on this socket")),
    }
}

/// Connects to the socket at a path.
pub fn connect_to_path(path: &Path) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    let address = SocketAddress::of(path)?;
    connect(&socket, &address.address)?;
    Ok(socket.into())
}

/// Address of a socket path. If the path is too long for the kernel, it is accessed through a descriptor of its folder.
struct SocketAddress {
    address: SocketAddrUnix,
    _folder: Option<OwnedFd>,
}

impl SocketAddress {
    fn of(path: &Path) -> io::Result<Self> {
        if path.as_os_str().len() <= LONGEST_ADDRESS {
            return Ok(Self { address: SocketAddrUnix::new(path)?, _folder: None });
        }
        let parent = path.parent().unwrap_or(Path::new("/"));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(parent, flags, Mode::empty())?;
        let short = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string());
        let short = short.join(path.file_name().unwrap_or_default());
        Ok(Self { address: SocketAddrUnix::new(&short)?, _folder: Some(folder) })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    struct SocketFolder(PathBuf);

    impl SocketFolder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("myriad-socket-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).expect("folder");
            Self(path)
        }
    }

    impl Drop for SocketFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn socket_path_is_next_to_pid_file() {
        assert_eq!(path_for_pid_file(Path::new("/run/nginx.pid")), Path::new("/run/nginx.sock"));
        assert_eq!(path_for_pid_file(Path::new("/run/nginx")), Path::new("/run/nginx.sock"));
        assert_eq!(path_for_pid_file(Path::new("/run/a.b")), Path::new("/run/a.b.sock"));
    }

    #[test]
    fn only_the_owner_may_connect_and_nothing_else_is_left() {
        let folder = SocketFolder::new("rights");
        let path = folder.0.join("s.sock");
        let _socket = create(&path).expect("a socket");
        let mode = fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        connect_to_path(&path).expect("a listening socket");
        assert_eq!(fs::read_dir(&folder.0).expect("folder").count(), 1);
    }

    #[test]
    fn what_a_crash_has_left_is_replaced_and_what_is_in_use_is_not() {
        let folder = SocketFolder::new("stale");
        let path = folder.0.join("s.sock");
        let first = create(&path).expect("a socket");
        assert_eq!(create(&path).expect_err("in use").kind(), io::ErrorKind::AddrInUse);
        connect_to_path(&path).expect("the first one still listens");
        drop(first);
        assert!(path.exists());
        let _second = create(&path).expect("the file of the closed socket is replaced");
        connect_to_path(&path).expect("the second listens");
    }

    #[test]
    fn a_file_of_another_kind_is_left_alone() {
        let folder = SocketFolder::new("file");
        let path = folder.0.join("s.sock");
        fs::write(&path, "mine").expect("a file");
        assert_eq!(create(&path).expect_err("a file").kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).expect("a file"), "mine");
    }

    #[test]
    fn a_path_that_is_too_long_for_an_address_will_do() {
        let folder = SocketFolder::new("long");
        let deep = folder.0.join("x".repeat(90)).join("y".repeat(90));
        fs::create_dir_all(&deep).expect("folders");
        let path = deep.join("s.sock");
        let _socket = create(&path).expect("a socket");
        connect_to_path(&path).expect("a listening socket");
    }
}
