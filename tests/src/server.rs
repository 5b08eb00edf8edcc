//! Server under test.

use std::fs::File;
use std::ops::Deref;
use std::process::{Child, Command, Output, Stdio};

use crate::process::{Signal, children_of, signal, signal_group};
use crate::{Answer, Client, Place, Request, binary, wait_for};

/// Running `myriad`, killed on drop; its folder is then removed. The drop fails the test if the server panicked.
#[derive(Debug)]
pub struct Server {
    place: Place,
    child: Child,
}

/// Directives of the main context before every `http` block.
const MAIN: &str = "daemon off;\npid @DIR@/myriad.pid;\nerror_log @DIR@/error.log info;\n";
/// Default of the `events` block.
const EVENTS: &str = "events { worker_connections 4096; }\n";

impl Server {
    /// Starts a server with `http { TEXT }` and waits until every socket listens.
    pub fn start(place: Place, http: &str) -> Self {
        Self::start_with(place, "", http)
    }

    /// Starts a server like [`Server::start`], with further directives in the main context.
    pub fn start_with(place: Place, main: &str, http: &str) -> Self {
        place.write("myriad.conf", configuration(&place, main, http));
        let mut command = Command::new(binary());
        command.arg("-p").arg(place.folder()).args(["-c", "myriad.conf", "-e", "error.log"]);
        Self::run(place, command)
    }

    /// Starts a command that serves from this folder, and waits until it has written `myriad.pid` into it.
    pub fn run(place: Place, mut command: Command) -> Self {
        let child = spawn(&place, &mut command);
        let mut server = Self { place, child };
        server.wait_until_it_listens();
        server
    }

    fn wait_until_it_listens(&mut self) {
        wait_for("the pid file", || {
            let ended = self.child.try_wait().expect("wait");
            assert!(ended.is_none(), "the server did not start:\n{}", self.complaints());
            self.place.path("myriad.pid").exists()
        });
    }

    /// Writes a configuration with `http { TEXT }` and signals the server to reload it; does not wait for the reload.
    pub fn reload(&self, http: &str) {
        // Atomically, because an earlier reload may be reading the file.
        self.place.write("myriad.conf.new", configuration(&self.place, "", http));
        std::fs::rename(self.place.path("myriad.conf.new"), self.place.path("myriad.conf")).expect("renamed");
        self.signal(Signal::HUP);
    }

    /// Returns the id of the supervisor process, whose children are the workers.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the supervisor.
    pub fn signal(&self, sent: Signal) {
        signal(self.child.id(), sent);
    }

    /// Returns the worker processes.
    pub fn workers(&self) -> Vec<u32> {
        children_of(self.child.id())
    }

    /// Waits until the server has exited, and returns whether it succeeded.
    pub fn ended(&mut self) -> bool {
        let mut status = None;
        wait_for("the end of the server", || {
            status = self.child.try_wait().expect("wait");
            status.is_some()
        });
        status.is_some_and(|status| status.success())
    }

    /// Opens a connection to the server.
    pub fn connect(&self) -> Client {
        Client::connect(self.place.port)
    }

    /// Sends `GET` on a new connection.
    pub fn get(&self, target: &str) -> Answer {
        self.fetch(&Request::get(target))
    }

    /// Sends a request on a new connection.
    pub fn fetch(&self, request: &Request) -> Answer {
        self.connect().fetch(request)
    }

    /// Waits for a text in the error log.
    pub fn log_has(&self, text: &str) {
        wait_for(&format!("{text:?} in the error log"), || self.place.read("error.log").contains(text));
    }

    /// Returns the number of completed zone recoveries. Before the recovery, a purge counts only the minimum of its
    /// objects.
    pub fn recoveries(&self) -> usize {
        self.place.read("error.log").matches(" bytes found in ").count()
    }

    /// Waits until `count` recoveries have completed.
    pub fn wait_for_recoveries(&self, count: usize) {
        wait_for("the end of recovery", || self.recoveries() >= count);
    }

    /// Terminates the server with a signal (`KILL` is sent to all its processes at once), and starts it again in its
    /// folder.
    pub fn restart(&mut self, with: Signal) {
        self.restart_after(with, || {});
    }

    /// Restarts the server like [`Server::restart`], and calls `between` after its exit.
    pub fn restart_after(&mut self, with: Signal, between: impl FnOnce()) {
        if with == Signal::KILL {
            let workers = self.workers();
            signal_group(self.child.id(), with);
            for worker in &workers {
                signal(*worker, with);
            }
            let _ = self.child.wait();
            wait_for("the end of the workers", || !workers.iter().any(|worker| crate::is_alive(*worker)));
        } else {
            self.signal(with);
            assert!(self.ended(), "the server exits successfully");
        }
        between();
        self.start_again();
    }

    /// Starts the server again in its folder, after its exit.
    pub fn start_again(&mut self) {
        let _ = std::fs::remove_file(self.place.path("myriad.pid"));
        let mut command = Command::new(binary());
        command.arg("-p").arg(self.place.folder()).args(["-c", "myriad.conf", "-e", "error.log"]);
        self.child = spawn(&self.place, &mut command);
        self.wait_until_it_listens();
    }

    /// Runs `myriad -t` on the current configuration file.
    pub fn test_configuration(&self) -> Output {
        let mut command = Command::new(binary());
        command.arg("-p").arg(self.place.folder()).args(["-c", "myriad.conf", "-e", "error.log", "-t"]);
        command.output().expect("myriad starts")
    }

    fn complaints(&self) -> String {
        format!("{}{}", self.place.read("stderr"), self.place.read("error.log"))
    }
}

fn spawn(place: &Place, command: &mut Command) -> Child {
    let stderr = File::options().create(true).append(true).open(place.path("stderr")).expect("stderr");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    std::os::unix::process::CommandExt::process_group(command, 0).spawn().expect("myriad starts")
}

fn configuration(place: &Place, main: &str, http: &str) -> String {
    let events = if main.contains("events {") { "" } else { EVENTS };
    place.fill(&format!("{MAIN}{events}{main}\nhttp {{\n{http}\n}}\n"))
}

impl Deref for Server {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.place
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        signal_group(self.child.id(), Signal::KILL);
        for worker in self.workers() {
            signal(worker, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let said = self.complaints();
        if std::thread::panicking() {
            eprintln!("--- output of the server ---\n{said}");
        } else {
            assert!(!said.contains("panicked"), "the server panicked:\n{said}");
        }
    }
}
