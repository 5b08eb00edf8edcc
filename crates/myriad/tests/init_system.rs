//! Tests of `sd_notify` messages to an init system, and of sockets that it passes, with the real binary.

mod support;

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use support::{ServerSite, get, is_alive, myriad, send, stderr, stdout, upgraded, wait_for};

/// Maximum time that the tests wait for a message.
const PATIENCE: Duration = Duration::from_secs(15);

/// Socket of an init system, in the folder of a site.
struct InitSocket(UnixDatagram);

impl InitSocket {
    fn new(site: &ServerSite) -> Self {
        let socket = UnixDatagram::bind(site.path("notify")).expect("a socket");
        socket.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        Self(socket)
    }

    /// Receives the next message that is not a watchdog message.
    fn next_message(&self) -> String {
        loop {
            let message = self.any();
            if message != "WATCHDOG=1" {
                return message;
            }
        }
    }

    fn any(&self) -> String {
        let mut bytes = [0; 1024];
        let length = self.0.recv(&mut bytes).expect("a message");
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }
}

/// Server of this site, killed on drop.
struct ChildServer(Child);

impl ChildServer {
    fn start(site: &ServerSite, environment: &[(&str, &str)]) -> Self {
        let mut command = site.command(&[]);
        command.env("NOTIFY_SOCKET", site.path("notify")).envs(environment.iter().copied());
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("start"))
    }

    fn has_exited(&mut self) -> bool {
        let mut status = None;
        wait_for("the end of the server", || {
            status = self.0.try_wait().expect("wait");
            status.is_some()
        });
        status.expect("ended").success()
    }
}

impl Drop for ChildServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ready(pid: u32, told: &str) -> String {
    format!("READY=1\nMAINPID={pid}\nSTATUS={told}")
}

#[test]
fn init_system_is_notified_of_start_reload_and_stop() {
    let site = ServerSite::plain();
    let init = InitSocket::new(&site);
    let mut server = ChildServer::start(&site, &[]);
    let pid = server.0.id();
    assert_eq!(init.next_message(), ready(pid, "serving"));
    assert_eq!(site.get(), Some(200), "connections are accepted once the server is ready");

    site.signal("HUP");
    let reloading = init.next_message();
    let time = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").expect(&reloading);
    assert!(time.parse::<u64>().is_ok_and(|time| time > 0), "{reloading}");
    assert_eq!(init.next_message(), ready(pid, "the new configuration is in effect"));

    site.write("nginx.conf", "lissen 80;\n");
    site.signal("HUP");
    assert!(init.next_message().starts_with("RELOADING=1\n"));
    let ready_line = ready(pid, "the new configuration was rejected: the previous one remains in effect");
    assert_eq!(init.next_message(), ready_line, "a failed reload also ends with READY=1");

    site.signal("QUIT");
    assert_eq!(init.next_message(), "STOPPING=1");
    assert!(server.has_exited());
}

#[test]
fn watchdog_is_notified_in_time() {
    let site = ServerSite::plain();
    let init = InitSocket::new(&site);
    let mut server = ChildServer::start(&site, &[("WATCHDOG_USEC", "200000")]);
    assert_eq!(init.next_message(), ready(server.0.id(), "serving"));
    for _ in 0..3 {
        assert_eq!(init.any(), "WATCHDOG=1");
    }
    site.signal("TERM");
    assert_eq!(init.next_message(), "STOPPING=1");
    assert!(server.has_exited());
}

#[test]
fn watchdog_of_another_process_is_left_alone() {
    let site = ServerSite::plain();
    let init = InitSocket::new(&site);
    let mut server = ChildServer::start(&site, &[("WATCHDOG_USEC", "1000"), ("WATCHDOG_PID", "1")]);
    assert_eq!(init.any(), ready(server.0.id(), "serving"));
    site.signal("TERM");
    assert_eq!(init.any(), "STOPPING=1", "no watchdog message was sent before");
    assert!(server.has_exited());
}

#[test]
fn service_goes_on_as_the_new_binary() {
    let site = ServerSite::plain();
    let init = InitSocket::new(&site);
    let own = std::process::id().to_string();
    let mut server = ChildServer::start(&site, &[("WATCHDOG_USEC", "200000"), ("WATCHDOG_PID", &own)]);
    let old = server.0.id();
    assert_eq!(init.next_message(), ready(old, "serving"));
    let new = upgraded(&site, "nginx.pid", old);
    assert_eq!(
        init.next_message(),
        ready(new, "serving"),
        "the message of the new process needs NotifyAccess=all"
    );
    send("QUIT", old);
    assert_eq!(init.next_message(), format!("MAINPID={new}"), "the new process becomes the main process");
    assert!(server.has_exited());
    assert_eq!(init.any(), "WATCHDOG=1", "the new process sends watchdog messages");
    assert_eq!(site.get(), Some(200));
    send("QUIT", new);
    assert_eq!(init.next_message(), "STOPPING=1");
    wait_for("the end of the new binary", || !is_alive(new));
}

#[test]
fn upgrade_by_command_ends_the_old_binary_once_the_new_one_serves() {
    let site = ServerSite::plain();
    let init = InitSocket::new(&site);
    let mut server = ChildServer::start(&site, &[]);
    let old = server.0.id();
    assert_eq!(init.next_message(), ready(old, "serving"));
    let output = site.upgrade();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(server.has_exited());
    let new = site.pid();
    assert_eq!(
        stdout(&output),
        format!(
            "process {new} serves new requests; process {old} finishes its requests in flight and exits\n"
        )
    );
    assert_eq!(site.get(), Some(200));
    assert_eq!((init.next_message(), init.next_message()), (ready(new, "serving"), format!("MAINPID={new}")));
    send("QUIT", new);
    wait_for("the end of the new binary", || !is_alive(new));
    assert_eq!(site.upgrade().status.code(), Some(3), "no process is running");
}

#[test]
fn upgrade_that_fails_leaves_the_old_binary() {
    let site = ServerSite::plain();
    let server = ChildServer::start(&site, &[]);
    wait_for("the pid file", || site.path("nginx.pid").exists());
    site.write("nginx.conf", "lissen 80;\n");
    let refused = site.upgrade();
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("unknown directive \"lissen\""), "{}", stderr(&refused));
    // The server is an old binary with another configuration than the command.
    let pid_file = site.path("nginx.pid");
    let by_pid = || myriad().args(["upgrade", "--pid-file"]).arg(&pid_file).output().expect("output");
    let failed = by_pid();
    assert_eq!(failed.status.code(), Some(1));
    assert!(stderr(&failed).contains("the new binary did not start"), "{}", stderr(&failed));
    assert_eq!((site.pid(), site.get()), (server.0.id(), Some(200)));

    site.write("other.pid", "1\n");
    let other =
        myriad().args(["upgrade", "--pid-file"]).arg(site.path("other.pid")).output().expect("output");
    assert_eq!(other.status.code(), Some(1));
    assert!(stderr(&other).contains("process 1"), "{}", stderr(&other));
}

/// Starts the server as an init system does, with this listener as descriptor 3.
fn activated(site: &ServerSite, listener: &TcpListener) -> ChildServer {
    let script = "export LISTEN_PID=$$ LISTEN_FDS=1; exec \"$0\" \"$@\" 3<&0 </dev/null";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(myriad().get_program()).arg("-p").arg(&site.folder);
    command.args(["-c", "nginx.conf", "-e", "error.log"]);
    let socket = OwnedFd::from(listener.try_clone().expect("a copy"));
    let stderr = std::fs::File::create(site.path("stderr")).expect("stderr");
    ChildServer(command.stdin(socket).stdout(Stdio::null()).stderr(stderr).spawn().expect("start"))
}

#[test]
fn sockets_of_the_init_system_serve_and_outlive_the_server() {
    let site = ServerSite::plain();
    let listener = TcpListener::bind(("127.0.0.1", site.port)).expect("a socket");
    for _ in 0..2 {
        let mut server = activated(&site, &listener);
        wait_for("the pid file", || site.path("nginx.pid").exists());
        assert_eq!(site.get(), Some(200));
        // A new binary recognises the socket too.
        let new = upgraded(&site, "nginx.pid", server.0.id());
        send("QUIT", server.0.id());
        assert!(server.has_exited());
        assert_eq!(site.get(), Some(200));
        send("QUIT", new);
        wait_for("the end of the new binary", || !is_alive(new));
        wait_for("the pid file to go", || !site.path("nginx.pid").exists());
    }
}

#[test]
fn client_of_held_socket_waits_until_server_starts() {
    let site = ServerSite::plain();
    let listener = TcpListener::bind(("127.0.0.1", site.port)).expect("a socket");
    let port = site.port;
    let client = std::thread::spawn(move || get(port));
    let mut server = activated(&site, &listener);
    assert_eq!(client.join().expect("a client"), Some(200));
    wait_for("the pid file", || site.path("nginx.pid").exists());
    send("TERM", server.0.id());
    assert!(server.has_exited());
}

#[test]
fn inherited_socket_without_listen_is_closed_and_logged() {
    let site = ServerSite::plain();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let address = listener.local_addr().expect("an address");
    let mut server = activated(&site, &listener);
    wait_for("the pid file", || site.path("nginx.pid").exists());
    site.log_has(&format!(
        "the socket {address} was passed to this process, but no \"listen\" directive uses it"
    ));
    assert_eq!(site.get(), Some(200));
    send("TERM", server.0.id());
    assert!(server.has_exited());
}
