//! Tests of `--print` and `-t`: the generated configuration, and rejected options.

use std::fs;
use std::os::unix::net::UnixListener;
use std::process::Stdio;

use super::{command, free_address, site_with_wordpress};
use crate::support::{self, myriad, send, stderr, stdout, wait_for};

#[test]
fn print_shows_a_configuration_that_passes_the_test() {
    let site = site_with_wordpress();
    let socket = site.path("php.sock");
    let _php = UnixListener::bind(&socket).expect("socket");
    let php = socket.to_str().expect("path");
    let listen = free_address(&site);
    let printed = command(&site, &["--php", php, "--listen", &listen, "--print"]).output().expect("print");
    assert!(printed.status.success(), "{}", stderr(&printed));
    let text = stdout(&printed);
    assert!(text.contains(&format!("server unix:{php} ")) && text.contains(&format!("listen {listen};")));
    site.write("site.conf", &text);
    let tested =
        myriad().arg("-t").arg("-p").arg(&site.folder).args(["-c", "site.conf"]).output().expect("test");
    assert!(tested.status.success(), "{}", stderr(&tested));
    let direct = command(&site, &["--php", php, "--listen", &listen, "-t"]).output().expect("test");
    assert!(direct.status.success(), "{}", stderr(&direct));
}

#[test]
fn server_listens_on_ipv4_and_ipv6_unless_address_is_configured() {
    let site = site_with_wordpress();
    let printed = |arguments: &[&str]| stdout(&command(&site, arguments).output().expect("print"));
    let has_v6 = fs::read("/proc/net/if_inet6").is_ok_and(|interfaces| !interfaces.is_empty());
    let text = printed(&["--php", "127.0.0.1:9", "--print"]);
    assert_eq!(text.contains("listen [::]:80"), has_v6, "{text}");
    let text = printed(&["--php", "127.0.0.1:9", "--listen", "8080", "--print"]);
    assert!(text.contains("listen 8080;") && !text.contains("listen [::]"), "{text}");
}

#[test]
fn a_folder_that_is_not_wordpress_is_refused_with_a_remedy() {
    let site = site_with_wordpress();
    fs::remove_file(site.path("html/index.php")).expect("remove");
    let output = command(&site, &["--php", "/nowhere.sock", "-t"]).output().expect("run");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("contains no WordPress"), "{}", stderr(&output));
}

#[test]
fn a_value_that_is_none_is_refused_by_its_option() {
    let site = site_with_wordpress();
    for (arguments, said) in [
        (&["--domain", "-t"][..], "option \"--domain\" requires a value, but \"-t\" is another option"),
        (&["--domain", "*.a.test"], "--domain \"*.a.test\" is a wildcard"),
        (&["--domain", "a.test", "--email", "me"], "--email \"me\" is not a valid address"),
        (&["--domain", "a.test", "--acme-directory", "http://a.test/"], "is not an https URL"),
        (&["--domain", "a.test", "--acme-ca", "/nowhere.pem"], "--acme-ca /nowhere.pem: No such file"),
        (&["--self-signed", "--https-listen", "127.0.0.1:99999"], ": invalid port; use a port"),
        (&["--listen", "0"], "--listen \"0\": invalid port; use a port"),
        (&["--name", "http://a.test"], "--name \"http://a.test\" is not a valid host name"),
    ] {
        let output =
            command(&site, &[&["--php", "/nowhere/php.sock"], arguments].concat()).output().expect("run");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(stderr(&output).contains(said), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn a_missing_php_socket_is_a_warning() {
    let site = site_with_wordpress();
    let listen = free_address(&site);
    let output =
        command(&site, &["--php", "/nowhere/php.sock", "--listen", &listen, "-t"]).output().expect("run");
    let errors = stderr(&output);
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("[warn]") && errors.contains("502"), "{errors}");
    assert_eq!(errors.matches("php.sock").count(), 1, "once: {errors}");
}

#[test]
fn what_print_shows_is_the_text_that_runs() {
    let site = site_with_wordpress();
    let php = site.path("php.sock");
    let _php = UnixListener::bind(&php).expect("socket");
    // Each command would otherwise search another free port for the dashboard.
    let dashboard = format!("dashboard={}", support::free_port());
    let site_options =
        ["--php", php.to_str().expect("path"), "--listen", "127.0.0.1:8099", "--name", "a.example"];
    let options = [&site_options[..], &["--set", &dashboard]].concat();
    let printed = stdout(&command(&site, &options).arg("--print").output().expect("print"));
    let dumped = stdout(&command(&site, &options).arg("-T").output().expect("dump"));
    let file = site.path("wordpress.conf");
    assert!(
        dumped.starts_with(&format!("# configuration file {}:\n{printed}", file.display())),
        "{printed}\nis not the beginning of\n{dumped}"
    );
    assert!(printed.starts_with("daemon off;\nerror_log stderr warn;\npid "), "{printed}");
    // The configuration has no other source: no `-g` is printed.
    assert!(!dumped.contains("# configuration file -g"), "{dumped}");
}

#[test]
fn print_without_a_site_shows_the_preset_with_its_placeholders() {
    let output = myriad().args(["wordpress", "--print"]).output().expect("print");
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output), include_str!("../../../../presets/wordpress.conf"));
    let incomplete = myriad().args(["wordpress", "--print", "--listen", "80"]).output().expect("print");
    assert!(!incomplete.status.success() && stderr(&incomplete).contains("--root is missing"));
}

#[test]
fn a_printed_configuration_runs_by_itself_from_another_folder() {
    let site = site_with_wordpress();
    let socket = site.path("php.sock");
    let _php = UnixListener::bind(&socket).expect("socket");
    let listen = format!("127.0.0.1:{}", site.port);
    let options = ["--php", socket.to_str().expect("path"), "--listen", &listen];
    let prefix = site.path("state");
    let mut print = myriad();
    print.args(["wordpress", "--print", "--root"]).arg(site.path("html")).arg("--prefix").arg(&prefix);
    let printed = print.args(options).output().expect("print");
    assert!(!prefix.exists(), "`--print` creates no folder");
    site.write("site.conf", &stdout(&printed));

    let mut server = myriad();
    let errors = fs::File::create(site.path("stderr")).expect("stderr");
    server.arg("-c").arg(site.path("site.conf")).current_dir("/").stdout(Stdio::null()).stderr(errors);
    let mut child = server.spawn().expect("start");
    let pid = prefix.join("myriad.pid");
    wait_for("the pid file", || {
        let status = child.try_wait().expect("wait");
        assert!(status.is_none(), "the server exited: {}", site.read("stderr"));
        pid.exists()
    });
    assert_eq!(
        fs::read_to_string(&pid).expect("pid").trim(),
        child.id().to_string(),
        "the started process is the server"
    );
    assert!(prefix.join("cache/wordpress").is_dir());
    assert_eq!(support::get_path(site.port, "/.git/config"), Some(404));
    send("TERM", child.id());
    assert!(child.wait().expect("end").success(), "{}", site.read("stderr"));
    assert!(!pid.exists());
}
