//! `scripts/up` and `scripts/cluster`, which are `make up` and `make cluster` after the build: they serve a WordPress, and leave nothing running
//! when they stop.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use myriad_tests::{Client, Place, Request, Signal, binary, is_alive, signal, wait_patiently_for, workspace};

/// Running script; if a test fails, its process group is killed.
struct Up {
    child: Child,
    place: Place,
}

impl Up {
    fn start(script: &str, place: Place) -> Self {
        let output = File::create(place.path("output")).expect("output");
        let errors = output.try_clone().expect("output");
        let mut command = Command::new(workspace().join("scripts").join(script));
        command.env("PORT", place.port.to_string()).env("SITE", place.path("site")).env("MYRIAD", binary());
        command.stdin(Stdio::null()).stdout(output).stderr(errors).process_group(0);
        Self { child: command.spawn().expect("the script starts"), place }
    }

    fn said(&self) -> String {
        self.place.read("output")
    }

    fn wait_until_ready(&mut self) {
        // It installs a complete WordPress.
        wait_patiently_for("the script", Duration::from_mins(5), || {
            let ended = self.child.try_wait().expect("wait");
            assert!(ended.is_none(), "the script has exited:\n{}", self.said());
            self.said().contains("Ctrl-C stops all processes")
        });
    }

    /// Returns the port of the URL that it has printed: the requested port, or the next free port.
    fn port(&self) -> u16 {
        let said = self.said();
        let port = said.split("http://localhost:").nth(1).and_then(|rest| rest.split('/').next());
        port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("no address:\n{said}"))
    }

    /// Returns `X-Cache` of the home page.
    fn home(&self) -> String {
        let port = self.port();
        let answer = Client::connect(port).fetch(&Request::get("/").host(&format!("localhost:{port}")));
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.cache().to_owned()
    }

    /// Stops the script, and checks that these processes have exited.
    fn stop(&mut self, started: &[u32]) {
        signal(self.child.id(), Signal::TERM);
        assert!(self.child.wait().expect("the end").success(), "{}", self.said());
        assert!(self.said().ends_with("stopped\n"), "{}", self.said());
        for pid in started {
            assert!(!is_alive(*pid), "process {pid} has not exited:\n{}", self.said());
        }
    }

    fn pid(&self, file: &str) -> u32 {
        self.place.read(file).trim().parse().unwrap_or_else(|_| panic!("{file} contains no process ID"))
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            signal(self.child.id(), Signal::TERM);
            let _ = self.child.wait();
        }
    }
}

fn sockets_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    names.filter_map(|name| name.into_string().ok()).filter(|name| name.contains(".sock")).collect()
}

#[test]
fn up_serves_a_wordpress_and_leaves_nothing_running() {
    let mut up = Up::start("up", Place::new());
    up.wait_until_ready();
    assert_eq!(up.home(), "MISS");
    assert_eq!(up.home(), "HIT");

    let started = ["site/run/db.pid", "site/run/php.pid", "site/myriad/myriad.pid"].map(|file| up.pid(file));
    assert!(started.into_iter().all(is_alive));
    up.stop(&started);
    assert_eq!(sockets_in(&up.place.path("site/run")), [""; 0]);
    assert!(!up.place.path("site/myriad/myriad.pid").exists());
}

#[test]
fn a_port_in_use_is_not_taken() {
    let place = Place::new();
    let _taken = std::net::TcpListener::bind(("127.0.0.1", place.port)).expect("the port");
    let mut up = Up::start("up", place);
    up.wait_until_ready();
    let (taken, used) = (up.place.port, up.port());
    assert_ne!(used, taken);
    assert!(up.said().contains(&format!("port {taken} is taken: using {used}")), "{}", up.said());
    assert_eq!(up.home(), "MISS");
}

#[test]
fn cluster_serves_a_wordpress_from_three_nodes() {
    let mut up = Up::start("cluster", Place::new());
    up.wait_until_ready();
    let nodes = ["web1", "web2", "web3"].map(|name| up.place.path(&format!("site/cluster/{name}")));
    let command = |arguments: &[&str], number: usize| {
        let output = Command::new(binary()).args(arguments).arg("-p").arg(&nodes[number]).output();
        String::from_utf8(output.expect("myriad starts").stdout).expect("text")
    };
    wait_patiently_for("all nodes", Duration::from_mins(1), || {
        (0..3).all(|number| command(&["cluster", "status"], number).contains("3 of 3 nodes active"))
    });
    // The balancer sends one request to each node.
    for _ in 0..3 {
        up.home();
    }
    assert_eq!([up.home(), up.home(), up.home()], ["HIT", "HIT", "HIT"]);
    let purge = command(&["purge", "--all"], 1);
    assert!(purge.contains("applied on 3 of 3 nodes"), "{purge}");
    let pids = ["web1", "web2", "web3"].map(|name| up.pid(&format!("site/cluster/{name}/myriad.pid")));
    signal(pids[2], Signal::TERM);
    wait_patiently_for("the stop of a node", Duration::from_mins(1), || !is_alive(pids[2]));
    for _ in 0..3 {
        up.home(); // the other nodes respond
    }
    up.stop(&pids);
}
