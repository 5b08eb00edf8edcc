//! Tests of `-t`: it tests whether the server could start (listening addresses, origins).

mod support;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use support::{ServerSite, free_port, stderr};

/// User ID for tests that need an unprivileged user, if root runs them.
const UNPRIVILEGED_USER: u32 = 65_534;

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|known| std::os::unix::fs::MetadataExt::uid(&known) == 0)
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
}

/// Creates a site with these lines in its server.
fn with_lines(lines: &str) -> ServerSite {
    let site = ServerSite::new();
    let text =
        site.configuration("daemon off;").replace("location / {", &format!("{lines}\n        location / {{"));
    site.write("nginx.conf", &text);
    site
}

#[test]
fn address_in_use_fails_configuration_test_and_names_its_process() {
    let site = ServerSite::plain();
    let holder = TcpListener::bind(("127.0.0.1", site.port)).expect("bind");
    let output = site.output(&["-t"]);
    let errors = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let wanted = format!("[emerg] bind() to 127.0.0.1:{} failed (98: Address already in use)", site.port);
    assert!(errors.contains(&wanted), "{errors}");
    assert!(
        errors.contains(&format!("help: the address is in use by process {} (", std::process::id())),
        "{errors}"
    );
    assert!(errors.contains("syntax is ok") && errors.contains("test failed"), "{errors}");
    // `--explain` does not test whether the server could start.
    assert!(site.output(&["--explain", "/"]).status.success());
    drop(holder);
    assert!(site.output(&["-t"]).status.success());
}

#[test]
fn a_taken_socket_file_fails_the_test_and_is_left_alone() {
    let site = ServerSite::new();
    let path = site.path("own.sock");
    let text = site.configuration("daemon off;");
    site.write(
        "nginx.conf",
        &text.replace(&format!("127.0.0.1:{}", site.port), &format!("unix:{}", path.display())),
    );
    assert!(site.output(&["-t"]).status.success());
    assert!(!path.exists(), "the test left its socket behind");
    let holder = UnixListener::bind(&path).expect("bind");
    let output = site.output(&["-t"]);
    let errors = stderr(&output);
    assert!(!output.status.success() && errors.contains("Address already in use"), "{errors}");
    assert!(errors.contains(&format!("process {} (", std::process::id())), "{errors}");
    drop(holder);
    assert!(
        path.exists() && site.output(&["-t"]).status.success(),
        "no process listens on the remaining socket file"
    );
    assert!(path.exists());
}

#[test]
fn a_file_where_a_socket_is_to_be_is_never_removed() {
    let site = ServerSite::new();
    let path = site.path("precious");
    let text = site.configuration("daemon off;");
    let listen = format!("unix:{}", path.display());
    site.write("nginx.conf", &text.replace(&format!("127.0.0.1:{}", site.port), &listen));
    site.write("precious", "text");
    for arguments in [&["-t"][..], &[]] {
        let output = site.output(arguments);
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(
            errors.contains("Address already in use") && errors.contains("a file that is not a socket"),
            "{errors}"
        );
        assert_eq!(site.read("precious"), "text");
    }
}

#[test]
fn the_addresses_of_the_server_that_runs_are_free_to_its_own_configuration() {
    let site = ServerSite::plain().start();
    let output = site.output(&["-t"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(site.get(), Some(200));
    // Another configuration with the same address, whose pid file contains another process ID.
    let other = ServerSite::new();
    other.write("nginx.conf", &site.read("nginx.conf"));
    let mut somebody = Command::new("sleep").arg("60").spawn().expect("sleep");
    other.write("nginx.pid", &format!("{}\n", somebody.id()));
    let output = other.output(&["-t"]);
    let errors = stderr(&output);
    fs::remove_file(other.path("nginx.pid")).expect("remove");
    let _ = somebody.kill();
    let _ = somebody.wait();
    assert!(!output.status.success(), "{errors}");
    // The message names the supervisor, not the worker that inherited the socket.
    assert!(
        errors.contains(&format!("in use by process {} (", site.pid())) && errors.contains("myriad"),
        "{errors}"
    );
}

/// If the open files of the server cannot be read, the user of the socket decides.
#[test]
fn a_server_of_another_user_is_known_by_that_user() {
    if !is_root() {
        return;
    }
    let site = ServerSite::plain().start();
    let test = |site: &ServerSite| {
        stderr(&site.command(&["-t"]).uid(UNPRIVILEGED_USER).gid(UNPRIVILEGED_USER).output().expect("output"))
    };
    let errors = test(&site);
    assert!(errors.contains("syntax is ok") && !errors.contains("bind()"), "{errors}");
    let other = ServerSite::new();
    other.write("nginx.conf", &site.read("nginx.conf"));
    mode(&other.folder, 0o777);
    let errors = test(&other);
    let wanted = format!(
        "the address is in use by a process of user root (uid 0); to identify it, run as that user or as root: ss -ltnp 'sport = :{}'",
        site.port
    );
    assert!(errors.contains("Address already in use") && errors.contains(&wanted), "{errors}");
}

#[test]
fn a_port_of_root_is_refused_to_others_with_the_remedy() {
    let first_free = fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start").unwrap_or_default();
    let port = first_free.trim().parse::<u16>().unwrap_or(1024).saturating_sub(1);
    if port == 0 {
        return;
    }
    let site = ServerSite::new();
    let text = site.configuration("daemon off;");
    site.write("nginx.conf", &text.replace(&format!(":{}", site.port), &format!(":{port}")));
    mode(&site.folder, 0o777);
    let mut command = site.command(&["-t"]);
    if is_root() {
        command.uid(UNPRIVILEGED_USER).gid(UNPRIVILEGED_USER);
    }
    let output = command.output().expect("output");
    let errors = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let wanted = format!("[emerg] bind() to 127.0.0.1:{port} failed (13: Permission denied)");
    assert!(errors.contains(&wanted) && errors.contains("setcap cap_net_bind_service"), "{errors}");
}

#[test]
fn origin_without_listener_is_warned_about_and_passes_test() {
    let port = free_port();
    let php = TcpListener::bind(("127.0.0.1", port)).expect("bind");
    let site = with_lines(&format!(
        "location ~ [.]php$ {{ fastcgi_pass 127.0.0.1:{port}; fastcgi_param SCRIPT_FILENAME /x; }}\n\
         location /again {{ fastcgi_pass localhost:{port}; }}\n\
         location /api/ {{ proxy_pass http://127.0.0.1:{port}/v1/; }}\n\
         location /gone {{ fastcgi_pass unix:/nowhere/php.sock; }}\n\
         location /far {{ proxy_pass http://192.0.2.1:9/; }}"
    ));
    let own =
        site.read("nginx.conf").replace("http://192.0.2.1:9/", &format!("http://127.0.0.1:{}/", site.port));
    site.write("nginx.conf", &own);
    let output = site.output(&["-t"]);
    let errors = stderr(&output);
    assert!(output.status.success(), "{errors}");
    assert!(!errors.contains("nothing listens"), "{errors}");
    assert!(errors.contains("[warn] the socket \"/nowhere/php.sock\""), "{errors}");
    assert_eq!(errors.matches("[warn]").count(), 1, "{errors}");
    drop(php);
    let output = site.output(&["-t"]);
    let errors = stderr(&output);
    assert!(output.status.success() && errors.contains("test is successful"), "{errors}");
    assert!(errors.contains(&format!("[warn] nothing listens on \"127.0.0.1:{port}\"")), "{errors}");
    assert!(errors.contains(&format!("[warn] nothing listens on \"localhost:{port}\"")), "{errors}");
    assert_eq!(errors.matches("[warn]").count(), 3, "each address is reported once: {errors}");
    assert!(errors.contains("help: start the upstream server") && errors.contains("nginx.conf:"), "{errors}");
}

#[test]
fn a_taken_address_hides_nothing_else_that_is_amiss() {
    let site = with_lines("location ~ [.]php$ { fastcgi_pass unix:/nowhere/php.sock; }");
    let _holder = TcpListener::bind(("127.0.0.1", site.port)).expect("bind");
    let output = site.output(&["-t"]);
    let errors = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let order =
        ["[emerg] bind() to ", "[warn] the socket \"/nowhere/php.sock\"", "SCRIPT_FILENAME", "test failed"];
    let places: Vec<_> = order.iter().filter_map(|text| errors.find(text)).collect();
    assert!(places.len() == order.len() && places.is_sorted(), "{errors}");
    assert!(!errors.contains("successful"), "{errors}");
}

#[test]
fn the_servers_of_a_group_are_asked_and_those_that_are_down_are_not() {
    let free = free_port();
    let site = with_lines("location ~ [.]php$ { fastcgi_pass php; fastcgi_param SCRIPT_FILENAME /x; }");
    let group = format!(
        "upstream php {{ server 127.0.0.1:{free}; server unix:/nowhere/a.sock down; }}\n    server {{"
    );
    site.write("nginx.conf", &site.read("nginx.conf").replace("server {", &group));
    let errors = stderr(&site.output(&["-t"]));
    assert!(errors.contains(&format!("[warn] nothing listens on \"127.0.0.1:{free}\"")), "{errors}");
    assert!(!errors.contains("does not exist"), "{errors}");
}

#[test]
fn socket_inaccessible_to_workers_is_reported_with_its_permissions() {
    if !is_root() {
        return;
    }
    let site = with_lines("location ~ [.]php$ { fastcgi_pass unix:@; fastcgi_param SCRIPT_FILENAME /x; }");
    fs::create_dir(site.path("run")).expect("mkdir");
    let path = site.path("run/php.sock");
    let text = site.read("nginx.conf").replace("unix:@", &format!("unix:{}", path.display()));
    site.write("nginx.conf", &format!("user nobody;\n{text}"));
    let _php = UnixListener::bind(&path).expect("bind");
    mode(&site.folder, 0o755);
    mode(&path, 0o660);
    let test = || {
        let output = site.output(&["-t"]);
        assert!(output.status.success(), "{}", stderr(&output));
        stderr(&output)
    };
    let errors = test();
    let wanted = format!(
        "[warn] the user \"nobody\" of the worker processes is not allowed to connect to \"unix:{}\" (mode 0660, owner root:root)",
        path.display()
    );
    assert!(errors.contains(&wanted) && errors.contains("listen.owner"), "{errors}");
    chown(&path, Some(UNPRIVILEGED_USER), None).expect("chown");
    assert!(!test().contains("[warn]"));
    mode(&site.path("run"), 0o700);
    let errors = test();
    let wanted = format!("the folder \"{}\" (mode 0700, owner root:root)", site.path("run").display());
    assert!(errors.contains(&wanted), "{errors}");
}
