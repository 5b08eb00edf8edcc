//! `myriad takeover`: Myriad replaces an nginx that runs as a systemd service, and vice versa.
//!
//! systemd is a script in PATH that starts and stops the real processes according to units; it reads the drop-in that
//! Myriad writes.

use std::net::TcpStream;
use std::process::{Command, Output};

use myriad_tests::{Client, Place, Request, Signal, binary, is_alive, signal, wait_for};

/// `systemctl` of two units, nginx and Myriad, each with a pid file, and a file while it is enabled.
const SYSTEMCTL: &str = r#"#!/bin/sh
units=@DIR@/units
echo "$*" >>@DIR@/told
for unit; do :; done
case $unit in nginx.service) pidfile=@DIR@/nginx.pid ;; *) pidfile=$units/myriad.pid ;; esac
pid=$(cat "$pidfile" 2>/dev/null)
alive() { [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; }
case $1 in
show)
    [ -e $units/no-systemd ] && { echo "System has not been booted with systemd" >&2; exit 1; }
    echo LoadState=loaded
    if alive && ! [ -e $units/by-hand ]; then echo "MainPID=$pid"; echo ActiveState=active; else echo MainPID=0; echo ActiveState=inactive; fi
    [ -e $units/$unit ] && echo UnitFileState=enabled || echo UnitFileState=disabled
    ;;
enable) touch $units/$unit ;;
disable) rm -f $units/$unit ;;
daemon-reload) ;;
stop)
    alive || exit 0
    # Repeated, because nginx can miss the exit of its worker while it handles the signal.
    while alive; do
        kill -QUIT "$pid" 2>/dev/null
        for _ in 1 2 3 4 5 6 7 8 9 10; do alive && sleep 0.1; done
    done
    rm -f "$pidfile"
    ;;
start)
    case $unit in
    nginx.service)
        /usr/sbin/nginx -p @DIR@ -c @DIR@/nginx.conf
        while [ ! -s "$pidfile" ]; do sleep 0.02; done
        # It sets its title, by which it is found, after it has written its pid.
        while ! grep -q "master process" "/proc/$(cat "$pidfile")/cmdline"; do sleep 0.02; done
        ;;
    myriad.service)
        [ -e $units/refuses ] && { echo "Job for myriad.service failed" >&2; exit 1; }
        line=$(sed -n 's/^ExecStart=//p' @DIR@/root/etc/systemd/system/myriad.service.d/takeover.conf | tail -n 1)
        [ -e $units/elsewhere ] && line="@BINARY@ -p @DIR@ -c @DIR@/elsewhere.conf -g 'daemon off;'"
        rm -f @DIR@/nginx.pid
        eval "setsid $line >>@DIR@/myriad.out 2>&1 </dev/null &"
        echo $! >"$pidfile"
        pid=$!
        while [ ! -s @DIR@/nginx.pid ]; do
            alive || { echo "Job for myriad.service failed" >&2; exit 1; }
            sleep 0.02
        done
        ;;
    esac
    ;;
esac
"#;

const NGINX: &str = "user root;\nworker_processes 1;\npid @DIR@/nginx.pid;\nerror_log @DIR@/logs/error.log;\nevents { worker_connections 64; }\n\
    http {\n    access_log @DIR@/logs/access.log;\n    server {\n        listen 127.0.0.1:@PORT@;\n        server_name site.test;\n        root html;\n        \
    location /who { return 200 $nginx_version; }\n    }\n}\n";

/// Machine with nginx as a service.
struct Machine {
    place: Place,
}

impl Machine {
    fn start() -> Self {
        let mut place = Place::new();
        place.set("BINARY", &binary().display().to_string());
        place.write("systemctl", place.fill(SYSTEMCTL));
        place.install(&place.path("systemctl"), "bin/systemctl");
        place.write("nginx.conf", place.fill(NGINX));
        place.write(
            "elsewhere.conf",
            place.fill("pid @DIR@/nginx.pid; error_log @DIR@/logs/error.log; events { }"),
        );
        place.write("html/index.html", "first page");
        place.write("units/nginx.service", "");
        place.write("root/unit", "");
        let machine = Self { place };
        let started =
            Command::new(machine.place.path("bin/systemctl")).args(["start", "nginx.service"]).status();
        assert!(
            started.expect("sh").success(),
            "nginx; its package comes with: scripts/install-packages test"
        );
        machine
    }

    fn takeover(&self, arguments: &[&str]) -> Output {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(binary());
        command.arg("takeover").args(arguments).arg("--root").arg(self.place.path("root"));
        command.env("PATH", format!("{}:{path}", self.place.path("bin").display()));
        command.output().expect("myriad starts")
    }

    /// Runs the command and requires success or failure; returns its output.
    fn says(&self, arguments: &[&str], success: bool) -> String {
        let output = self.takeover(arguments);
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.success(), success, "{said}\n{}", self.place.read("myriad.out"));
        said
    }

    /// Returns the server that responds; the page must exist.
    fn server(&self) -> String {
        let mut client = Client::connect(self.place.port);
        let page = client.fetch(&Request::get("/").host("site.test"));
        assert_eq!(page.body, b"first page");
        let told = client.fetch(&Request::get("/missing").host("site.test"));
        let server = told.field("Server").unwrap_or_default().to_ascii_lowercase();
        server.split('/').next().unwrap_or_default().to_owned()
    }

    fn is_enabled(&self, unit: &str) -> bool {
        self.place.path("units").join(unit).exists()
    }

    fn has(&self, path: &str) -> bool {
        self.place.path("root").join(path).exists()
    }
}

const UNIT: &str = "etc/systemd/system/myriad.service.d/takeover.conf";
const RECORD: &str = "var/lib/myriad/takeover.json";

impl Drop for Machine {
    fn drop(&mut self) {
        for file in ["nginx.pid", "units/myriad.pid"] {
            let Ok(pid) = self.place.read(file).trim().parse::<u32>() else { continue };
            signal(pid, Signal::TERM);
            wait_for("the end of the servers", || !is_alive(pid));
        }
    }
}

#[test]
fn services_change_places_and_back_and_the_page_is_the_same() {
    let machine = Machine::start();
    assert_eq!(machine.server(), "nginx");
    let said = machine.says(&[], true);
    for part in [
        "nginx/1.",
        "nginx.conf",
        "The configuration is valid",
        "The takeover is possible",
        "worker_processes",
        "nginx.conf:2",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    assert!(!machine.has(UNIT) && !machine.has(RECORD) && machine.server() == "nginx", "nothing was changed");

    let said = machine.says(&["--apply"], true);
    assert!(
        said.contains("systemctl stop nginx.service") && said.contains("(http://site.test/): status 200"),
        "{said}"
    );
    assert_eq!(machine.server(), "myriad");
    assert!(machine.is_enabled("myriad.service") && !machine.is_enabled("nginx.service"));
    let unit = machine.place.read(&format!("root/{UNIT}"));
    assert!(
        unit.contains(&format!("ReadWritePaths=\"-{}\"", machine.place.path("logs").display())),
        "{unit}"
    );
    assert!(machine.says(&["--apply"], false).contains("already taken over"));

    let said = machine.says(&["--undo"], true);
    assert!(said.contains("nginx is restored"), "{said}");
    assert_eq!(machine.server(), "nginx");
    assert!(!machine.is_enabled("myriad.service") && machine.is_enabled("nginx.service"));
    assert!(!machine.has(UNIT) && !machine.has(RECORD));
    assert!(machine.says(&["--undo"], false).contains("nothing to undo"));
}

#[test]
fn nginx_is_back_by_itself_where_myriad_does_not_start_or_does_not_answer() {
    let machine = Machine::start();
    for (what, part) in
        [("refuses", "systemctl start myriad.service: Job for"), ("elsewhere", "no response (")]
    {
        machine.place.write(&format!("units/{what}"), "");
        let said = machine.says(&["--apply"], false);
        assert!(
            said.contains(part) && said.contains("nginx is restored and responds as before"),
            "{what}\n{said}"
        );
        assert_eq!(machine.server(), "nginx", "{what}");
        assert!(machine.is_enabled("nginx.service") && !machine.is_enabled("myriad.service"), "{what}");
        assert!(!machine.has(UNIT) && !machine.has(RECORD), "{what}");
        std::fs::remove_file(machine.place.path("units").join(what)).expect("the file");
    }
}

#[test]
fn nginx_started_by_hand_outside_systemd_is_inspected() {
    let machine = Machine::start();
    machine.place.write("units/by-hand", "");
    let output = machine.takeover(&[]);
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let ours = format!("configuration {},", machine.place.path("nginx.conf").display());
    // Other tests may run nginx at the same time: then a configuration must be specified.
    assert!(said.contains(&ours) || said.contains("nginx master processes are running"), "{said}");
}

#[test]
fn rejected_directive_is_reported_with_position_and_nginx_continues() {
    let machine = Machine::start();
    let text = machine
        .place
        .read("nginx.conf")
        .replace("root html;", "root html;\n        perl_set $a 'sub { 1 }';");
    machine.place.write("nginx.conf", text);
    for arguments in [&[][..], &["--apply"]] {
        let said = machine.says(arguments, false);
        assert!(said.contains("perl_set") && said.contains("nginx.conf:12:"), "{said}");
    }
    assert!(machine.server() == "nginx" && !machine.has(UNIT));
}

#[test]
fn manual_commands_are_printed_without_systemd() {
    let machine = Machine::start();
    machine.place.write("units/no-systemd", "");
    let configuration = machine.place.path("nginx.conf").display().to_string();
    let prefix = machine.place.folder().display().to_string();
    let said =
        machine.says(&["--apply", "-c", &configuration, "-p", &prefix, "--nginx", "/usr/sbin/nginx"], false);
    assert!(
        said.contains("has not been booted with systemd") && said.contains("/usr/sbin/nginx -p"),
        "{said}"
    );
    assert!(said.contains("-s quit") && said.contains("To restore nginx:"), "{said}");
    // The printed commands work: nginx stops, Myriad serves, and vice versa.
    let run = |line: &str| {
        let done = Command::new("sh").args(["-c", line]).output().expect("sh");
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    };
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("  /")).collect();
    let [nginx_ends, myriad_starts, myriad_ends, nginx_starts] = lines[..] else { panic!("{said}") };
    for (end, start, server) in [(nginx_ends, myriad_starts, "myriad"), (myriad_ends, nginx_starts, "nginx")]
    {
        run(end);
        wait_for("the end of the first server", || {
            TcpStream::connect(("127.0.0.1", machine.place.port)).is_err()
        });
        run(start);
        wait_for("the other", || TcpStream::connect(("127.0.0.1", machine.place.port)).is_ok());
        assert_eq!(machine.server(), server);
    }
    wait_for("the pid file", || !machine.place.read("nginx.pid").trim().is_empty());
}

#[test]
fn missing_nginx_is_reported() {
    let place = Place::new();
    let mut command = Command::new(binary());
    command.args(["takeover", "-c", "nginx.conf", "--nginx"]).arg(place.path("no-such-nginx"));
    let output = command.output().expect("myriad starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("no-such-nginx"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}
