//! A real server with its own folder and ports.

#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod answer;
pub(crate) mod origin;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Maximum time of any step, even on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(15);

/// Folder with a configuration. On drop, it is removed, and the started server is killed, or without one the process in
/// `nginx.pid`.
pub(crate) struct ServerSite {
    pub(crate) folder: PathBuf,
    pub(crate) port: u16,
    child: Option<Child>,
}

/// Returns a free port of the loopback address.
///
/// It is below the ephemeral ports (32768 and above), one of which could be assigned to a connection before the server
/// binds it. It is tested by connecting, not by binding: a process that another test starts at that moment would
/// inherit the listener.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(97);
    loop {
        let at = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % 20_000;
        let port = 12_000 + at as u16;
        if TcpStream::connect(("127.0.0.1", port)).is_err() {
            return port;
        }
    }
}

impl ServerSite {
    /// Creates a folder with `logs/`, without a configuration.
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("myriad-test-{}-{number}", std::process::id()));
        fs::create_dir_all(folder.join("logs")).expect("folder");
        Self { folder, port: free_port(), child: None }
    }

    /// Creates a site in the foreground that responds with 200 on its port.
    pub(crate) fn plain() -> Self {
        let site = Self::new();
        site.write("nginx.conf", &site.configuration("daemon off;"));
        site
    }

    /// Returns a configuration with these directives in the main context.
    pub(crate) fn configuration(&self, main: &str) -> String {
        format!(
            "{main}\npid nginx.pid;\nerror_log error.log debug;\nevents {{ }}\nhttp {{\n    access_log access.log;\n    \
             server {{\n        listen 127.0.0.1:{};\n        location / {{ return 200 ok; }}\n    }}\n}}\n",
            self.port
        )
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.join(name), text).expect(name);
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns a command that runs the binary with the configuration of this site and more arguments.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = myriad();
        command.arg("-p").arg(&self.folder).args(["-c", "nginx.conf", "-e", "error.log"]).args(arguments);
        command
    }

    /// Runs the binary until it exits.
    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("output")
    }

    /// Runs `myriad upgrade` with the configuration of this site.
    pub(crate) fn upgrade(&self) -> Output {
        let mut command = myriad();
        command.arg("upgrade").arg("-p").arg(&self.folder).args(["-c", "nginx.conf"]);
        command.output().expect("output")
    }

    /// Starts the server in the foreground and waits for its pid file.
    pub(crate) fn start(mut self) -> Self {
        let stderr = fs::File::create(self.folder.join("stderr")).expect("stderr");
        let mut command = self.command(&[]);
        self.child =
            Some(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr).spawn().expect("start"));
        wait_for("the pid file", || self.path("nginx.pid").exists());
        self
    }

    /// Returns the process ID in the pid file.
    pub(crate) fn pid(&self) -> u32 {
        // While one server replaces another, the file is missing for a moment.
        let written = || std::fs::read_to_string(self.path("nginx.pid")).ok()?.trim().parse().ok();
        let mut pid = None;
        wait_for("a pid in its file", || {
            pid = written();
            pid.is_some()
        });
        pid.expect("a process ID")
    }

    /// Returns the process ID of the started process.
    pub(crate) fn child_pid(&self) -> u32 {
        self.child.as_ref().expect("started").id()
    }

    /// Sends a signal to the supervisor.
    pub(crate) fn signal(&self, name: &str) {
        send(name, self.pid());
    }

    /// Returns the process ID of the worker: the first child of the supervisor; `None` without one.
    pub(crate) fn worker(&self) -> Option<u32> {
        children_of(self.pid()).into_iter().next()
    }

    /// Waits for the started process to exit.
    pub(crate) fn wait_for_exit(&mut self) -> ExitStatus {
        let child = self.child.as_mut().expect("started");
        let mut status = None;
        wait_for("the end of the server", || {
            status = child.try_wait().expect("wait");
            status.is_some()
        });
        self.child = None;
        status.expect("ended")
    }

    /// Requests `/` and returns the status code; `None` without a connection or a response.
    pub(crate) fn get(&self) -> Option<u16> {
        get(self.port)
    }

    pub(crate) fn log_has(&self, text: &str) {
        wait_for(text, || self.read("error.log").contains(text));
    }
}

impl Drop for ServerSite {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        } else if let Ok(pid) = self.read("nginx.pid").trim().parse() {
            send("KILL", pid);
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns a command that runs the binary under test.
pub(crate) fn myriad() -> Command {
    Command::new(env!("CARGO_BIN_EXE_myriad"))
}

/// Sends one request on a new connection. Returns the status; `None` without a connection or a response.
pub(crate) fn get(port: u16) -> Option<u16> {
    let stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    status(stream)
}

/// Sends one request for a path on a new connection. Returns the status; `None` without a connection or a response.
pub(crate) fn get_path(port: u16, path: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    ask(&mut stream, path)
}

/// Sends one request over a Unix socket. Returns the status; `None` without a connection or a response.
pub(crate) fn get_unix(path: &Path) -> Option<u16> {
    status(UnixStream::connect(path).ok()?)
}

fn status(mut stream: impl Read + Write) -> Option<u16> {
    ask(&mut stream, "/")
}

fn ask(stream: &mut (impl Read + Write), path: &str) -> Option<u16> {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).split(' ').nth(1)?.parse().ok()
}

/// Polls until `holds` returns true; a timeout fails the test with `what`.
pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "timeout while waiting for {what}");
        sleep(Duration::from_millis(10));
    }
}

/// Replaces the supervisor `old` by a new binary and waits for the pid files of both. Returns the process ID of the new
/// one.
///
/// The old file is renamed first and the new one is written later, so there is a moment at which `pid_file` does not
/// exist.
pub(crate) fn upgraded(site: &ServerSite, pid_file: &str, old: u32) -> u32 {
    let pid = |file: &str| site.read(file).trim().parse::<u32>().ok();
    send("USR2", old);
    let mut new = None;
    wait_for("both pid files", || {
        new = pid(pid_file).filter(|new| *new != old);
        new.is_some() && pid(&format!("{pid_file}.oldbin")) == Some(old)
    });
    new.expect("a process ID")
}

pub(crate) fn send(signal: &str, pid: u32) {
    let _ = Command::new("kill").arg(format!("-{signal}")).arg(pid.to_string()).output();
}

pub(crate) fn is_alive(pid: u32) -> bool {
    // A zombie has exited and is not alive.
    stat(pid).is_some_and(|(lives, _)| lives)
}

pub(crate) fn children_of(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").expect("/proc");
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|&pid| stat(pid).is_some_and(|(lives, of)| of == parent && lives)).collect()
}

/// Returns whether a process runs, and its parent; `None` if it does not exist. A process also runs if its first thread
/// is a zombie but other threads run, because it still owns its sockets (proc(5): `state`, `ppid`, `num_threads`).
fn stat(pid: u32) -> Option<(bool, u32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<_> = text.rsplit_once(") ")?.1.split(' ').collect();
    let lives = *fields.first()? != "Z" || fields.get(17)?.parse::<u32>().ok()? > 1;
    Some((lives, fields.get(1)?.parse().ok()?))
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
