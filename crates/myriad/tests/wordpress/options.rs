//! Tests of options that are checked before a start, and of commands that find a running server without options.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::{Command, Output};
use std::thread;

use super::{KilledServer, refused, site_with_wordpress, started};
use crate::support::{ServerSite, free_port, myriad, stderr, stdout, wait_for};

/// Returns a command for `myriad wordpress` without `--php-later`.
fn command(site: &ServerSite, arguments: &[&str]) -> Command {
    let mut command = myriad();
    command.args(["wordpress", "--root"]).arg(site.path("html")).arg("--prefix").arg(&site.folder);
    command.args(["--listen", &format!("127.0.0.1:{}", site.port)]).args(arguments);
    command
}

/// Sends a greeting to one client of a socket.
fn sends(listener: UnixListener, greeting: &'static [u8]) {
    thread::spawn(move || {
        let Ok((mut stream, _)) = listener.accept() else { return };
        let _ = stream.write_all(greeting);
        // Leaves the connection open until the client has sent something and closed it.
        let _ = stream.read(&mut [0; 64]);
        let _ = stream.read(&mut [0; 64]);
    });
}

#[test]
fn start_is_refused_where_php_fpm_does_not_listen_unless_it_comes_later() {
    let site = site_with_wordpress();
    let closed = format!("127.0.0.1:{}", free_port());
    let mariadb = site.path("mysqld.sock");
    sends(UnixListener::bind(&mariadb).expect("a socket"), b"J\0\0\x00\x0a5.5.5-10.11.6-MariaDB\0");
    let mariadb = mariadb.display().to_string();
    for (php, part) in [
        (closed.as_str(), "nothing listens on this address"),
        ("/nowhere/php.sock", "nothing listens on this address"),
        (&mariadb, "MariaDB or MySQL listens on this address instead of php-fpm"),
        ("http://127.0.0.1:9000", "write HOST:PORT, for example 127.0.0.1:9000"),
    ] {
        let errors = refused(&site, &mut command(&site, &["--php", php]));
        assert!(errors.contains(&format!("wordpress: --php {php}")) && errors.contains(part), "{errors}");
        assert!(
            !site.path("dashboard").exists() && !site.path("cache").exists(),
            "a rejected start creates no files"
        );
    }
    let later = started(&site, &["--php", &closed]);
    assert!(!site.read("err").contains("nothing listens"), "{}", site.read("err"));
    drop(later);

    // If php-fpm of one of several sites does not listen, the server starts nevertheless.
    let several = site_with_wordpress();
    let line = format!("a.test {} {closed}", several.path("html").display());
    let mut server = myriad();
    server.arg("wordpress").arg("--prefix").arg(&several.folder).args(["--site", &line]);
    server.args(["--listen", &format!("127.0.0.1:{}", several.port)]);
    let errors = std::fs::File::create(several.path("err")).expect("a file");
    let _server = KilledServer(server.stderr(errors).spawn().expect("start"));
    wait_for("a server", || several.read("err").contains("  stop "));
    assert!(
        several.read("err").contains(&format!("--site 1: php {closed}: nothing listens on this address"))
    );
}

#[test]
fn each_listen_is_an_address_and_other_options_are_given_once() {
    let site = site_with_wordpress();
    let php = ["--php", "127.0.0.1:9"];
    let printed =
        |more: &[&str]| command(&site, &[&php, more].concat()).arg("--print").output().expect("print");
    let text = stdout(&printed(&["--listen", "127.0.0.1:8099", "--trusted-proxy", "192.0.2.7"]));
    for line in [
        format!("listen 127.0.0.1:{};", site.port).as_str(),
        "listen 127.0.0.1:8099;",
        "set_real_ip_from 192.0.2.7;",
        "forwarded_host_from 192.0.2.7;",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    for (more, part) in [
        (&["-p", "/elsewhere"][..], "--prefix is given more than once"),
        (&["--php", "/run/php.sock"], "--php is given more than once"),
        (&["--name", "bücher.example"], "xn--bcher-kva.example"),
        (&["--trusted-proxy", "balancer"], "--trusted-proxy \"balancer\" is not a valid address"),
    ] {
        let errors = stderr(&printed(more));
        assert!(errors.contains(part), "{errors}");
    }
}

#[test]
fn cluster_of_a_preset_needs_a_secret_and_valid_urls_without_a_password() {
    let site = site_with_wordpress();
    let with = |url: &str, more: &str| {
        command(&site, &["--php", "127.0.0.1:9", "--cluster", url, more]).output().expect("a command")
    };
    let errors = stderr(&with("redis://127.0.0.1", "--print"));
    if !cfg!(feature = "cluster") {
        assert!(errors.contains("this build has no feature \"cluster\""), "{errors}");
        return;
    }
    assert!(errors.contains("cluster.secret: create it on one node"), "{errors}");
    std::fs::write(site.path("cluster.secret"), "0123456789abcdef".repeat(4)).expect("written");
    let owner_only: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(site.path("cluster.secret"), owner_only.clone()).expect("a mode");
    let text = stdout(&with("sentinels://127.0.0.1/main", "--print"));
    assert!(text.contains("server sentinels://127.0.0.1/main;"), "{text}");
    let checked = stderr(&with("redis://127.0.0.1", "-t"));
    assert!(checked.contains("test is successful"), "{checked}");
    for (url, why) in [
        ("http://127.0.0.1", "the scheme must be redis://"),
        ("redis://127.0.0.1:0", "the port must be a number from 1 to 65535"),
        ("sentinel://127.0.0.1", "for a Sentinel, the name of the master"),
        ("redis://user:word@127.0.0.1", "write the user name to PREFIX/cluster.username"),
    ] {
        let failed = with(url, "--print");
        let errors = stderr(&failed);
        assert!(!failed.status.success() && errors.contains("wordpress: --cluster is invalid: "), "{errors}");
        assert!(errors.contains(why) && !errors.contains("word@"), "{errors}");
    }
    for (name, content) in [("cluster.username", "shop\n"), ("cluster.password", "word\n")] {
        std::fs::write(site.path(name), content).expect("written");
    }
    std::fs::set_permissions(site.path("cluster.password"), owner_only).expect("a mode");
    let text = stdout(&with("redis://127.0.0.1/1", "--print"));
    assert!(text.contains("username shop;") && text.contains("cluster.password;"), "{text}");
    let checked = stderr(&with("redis://127.0.0.1/1", "-t"));
    assert!(checked.contains("test is successful"), "{checked}");
}

/// Runs a script in a PID namespace, in which other servers of this machine are not visible. Returns `None` unless root
/// runs the tests.
fn alone(site: &ServerSite, script: &str) -> Option<Output> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: a PID namespace needs root");
        return None;
    }
    let program = myriad().get_program().to_owned();
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script]);
    command.env("MYRIAD", program).env("DIR", &site.folder).env("PORT", site.port.to_string());
    command.env("OTHER", free_port().to_string()).env("FOREIGN", free_port().to_string());
    Some(command.output().expect("unshare"))
}

/// Script that starts servers with the prefixes `foreign` (of another user), `one` and `two`, and runs commands with
/// and without `--prefix`.
const SERVERS: &str = r#"
    start() { $4 "$MYRIAD" wordpress --root "$DIR/html" --php 127.0.0.1:9 --php-later $1 "$DIR/$2" --listen 127.0.0.1:$3 2>"$DIR/$2.err" &
        while ! grep -q '  stop ' "$DIR/$2.err"; do kill -0 $! || exit 9; done; }
    say() { echo "== $*"; "$MYRIAD" "$@" 2>&1; echo "status $?"; }
    say cache stats
    mkdir "$DIR/foreign"; chown 54321:54321 "$DIR/foreign"
    start --prefix foreign $FOREIGN "setpriv --reuid=54321 --regid=54321 --clear-groups"
    say cache stats
    start --prefix one $PORT
    say wordpress status
    say cache stats
    say cache stats -p "$DIR/one"
    say cache stats --prefix "$DIR/one"
    say -s reload --prefix "$DIR/one"
    start -p two $OTHER
    say wordpress status
    say cache stats
    say wordpress stop -p "$DIR/two"
    say wordpress stop
"#;

#[test]
fn commands_find_the_only_server_and_list_those_that_run_where_there_are_several() {
    let site = site_with_wordpress();
    let Some(output) = alone(&site, SERVERS) else { return };
    let printed_text = stdout(&output);
    let parts: Vec<&str> = printed_text.split("== ").skip(1).collect();
    let part = |index: usize| {
        parts.get(index).copied().unwrap_or_else(|| panic!("{printed_text}{}", stderr(&output)))
    };
    let (one, two) = (site.path("one").display().to_string(), site.path("two").display().to_string());

    let none = part(0);
    assert!(
        none.contains("no Myriad server is running on this machine") && none.contains("status 1"),
        "{none}"
    );
    // Root must not connect to a server of another user, whose control socket could send any response.
    let foreign = part(1);
    assert!(foreign.contains("status 1") && foreign.contains(", of 54321)"), "{foreign}");
    for index in 2..=5 {
        let found = part(index);
        assert!(found.ends_with("status 0\n"), "{found}");
        assert!(found.contains(&format!("{one}/cache/wordpress")), "{found}");
    }
    assert!(part(6).ends_with("status 0\n"), "{}", part(6));
    for (index, status) in [(7, 3), (8, 1)] {
        let several = part(index);
        assert!(
            several.contains("running servers:") && several.contains(&format!("status {status}")),
            "{several}"
        );
        for prefix in [&one, &two] {
            assert!(several.contains(&format!("--prefix {prefix} ")), "{several}");
        }
    }
    assert!(part(9).ends_with("status 0\n") && part(10).ends_with("status 0\n"), "{printed_text}");
}

/// A silent listener counts as php-fpm, because all children of a pool may be busy.
#[test]
fn listener_that_is_silent_is_no_reason_to_refuse() {
    let site = site_with_wordpress();
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let php = silent.local_addr().expect("its address").to_string();
    let mut server = command(&site, &["--php", &php]);
    let errors = std::fs::File::create(site.path("err")).expect("a file");
    let _server = KilledServer(server.stderr(errors).spawn().expect("start"));
    wait_for("a server", || site.read("err").contains("  stop "));
}
