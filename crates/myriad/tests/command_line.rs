//! Output and exit status of the binary in commands that do not serve.

mod support;

use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use support::{ServerSite, myriad, stderr, stdout};

#[test]
fn a_sound_configuration_passes_the_test() {
    let site = ServerSite::plain();
    let output = site.output(&["-t"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let path = site.path("nginx.conf");
    assert!(stderr(&output).contains(&format!("the configuration file {} syntax is ok", path.display())));
    assert!(stderr(&output).contains(&format!("configuration file {} test is successful", path.display())));
    assert_eq!(stdout(&output), "");
    assert!(!site.path("nginx.pid").exists());
    assert!(stderr(&site.output(&["-t", "-q"])).is_empty());
}

#[test]
fn all_errors_are_reported_at_once_with_positions() {
    let site = ServerSite::new();
    site.write(
        "nginx.conf",
        "daemon off;\nevents { }\nworker_prozesses 1;\nhttp {\n    server {\n        lissen 80;\n    }\n}\n",
    );
    for arguments in [&["-t"][..], &[]] {
        let output = site.output(arguments);
        assert_eq!(output.status.code(), Some(1));
        let text = stderr(&output);
        assert!(text.contains("worker_prozesses") && text.contains("lissen"), "{text}");
        assert!(text.contains("nginx.conf:3") && text.contains("nginx.conf:6"), "{text}");
        assert!(text.contains("[emerg]"), "{text}");
        assert_eq!(stdout(&output), "");
    }
    assert!(stderr(&site.output(&["-t"])).contains("nginx.conf test failed"));
    assert!(site.read("error.log").contains("lissen"), "the error is also in the log of `-e`");
}

#[test]
fn warning_next_to_error_remains_warning() {
    let mut site = ServerSite::plain();
    let sound = site.read("nginx.conf");
    let wrong =
        sound.replace("location /", "ssl_protocols SSLv3 TLSv1.2;\n        lissen 80;\n        location /");
    site.write("nginx.conf", &wrong);
    for arguments in [&["-t"][..], &[]] {
        let output = site.output(arguments);
        assert_eq!(output.status.code(), Some(1));
        let text = stderr(&output);
        assert!(text.contains("[warn] SSLv3 is insecure") && !text.contains("[emerg] SSLv3"), "{text}");
        assert!(text.contains("[emerg] unknown directive \"lissen\""), "{text}");
    }
    site.write("nginx.conf", &sound);
    site = site.start();
    let before = site.read("error.log").matches("[warn]").count();
    site.write("nginx.conf", &wrong);
    site.signal("HUP");
    site.log_has("the previous one remains in effect");
    let log = site.read("error.log");
    let warned = log.lines().filter(|line| line.contains("[warn]")).count();
    assert!(
        warned > before && log.lines().all(|line| !line.contains("SSLv3 is") || line.contains("[warn]")),
        "{log}"
    );
}

#[test]
fn missing_configuration_is_reported_by_name() {
    let site = ServerSite::new();
    let output = site.output(&["-t"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("nginx.conf"), "{}", stderr(&output));
}

#[test]
fn the_dump_shows_every_file_once() {
    let site = ServerSite::new();
    site.write("nginx.conf", "include a.conf;\ninclude a.conf;\ndaemon off;\nevents { }\n");
    site.write("a.conf", "include b.conf;\n");
    site.write("b.conf", "# deep\n");
    let output = site.output(&["-T"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let dump = stdout(&output);
    for name in ["nginx.conf", "a.conf", "b.conf"] {
        let head = format!("# configuration file {}:\n{}", site.path(name).display(), site.read(name));
        assert_eq!(dump.matches(&head).count(), 1, "{name} in {dump}");
    }
    fs::remove_file(site.path("b.conf")).expect("remove");
    let output = site.output(&["-T"]);
    assert!(!output.status.success() && stdout(&output).is_empty());
}

#[test]
fn versions_and_help_go_to_standard_error() {
    let version = myriad().arg("-v").output().expect("-v");
    assert!(version.status.success() && stdout(&version).is_empty());
    let all = stderr(&myriad().arg("-V").output().expect("-V"));
    assert!(all.starts_with(&stderr(&version)) && all.contains("nginx version: nginx/1.31.4"), "{all}");
    assert!(all.contains("--without-http_browser_module") && !all.contains("--without-http_rewrite_module"));
    let help = myriad().arg("-?").output().expect("-?");
    assert!(help.status.success() && stderr(&help).contains("-s signal"));
    let wrong = myriad().arg("-y").output().expect("-y");
    assert_eq!(wrong.status.code(), Some(1));
    assert!(stderr(&wrong).contains("invalid option: \"y\""));
}

#[test]
fn directives_of_the_command_line_are_part_of_the_configuration() {
    let site = ServerSite::plain();
    let output = site.output(&["-t", "-g", "worker_prozesses 1"]);
    assert!(!output.status.success() && stderr(&output).contains("worker_prozesses"), "{}", stderr(&output));
    assert!(site.output(&["-tg", "env TZ;"]).status.success());
}

#[test]
fn an_address_in_use_ends_the_start_at_once() {
    let site = ServerSite::plain();
    let _holder = TcpListener::bind(("127.0.0.1", site.port)).expect("bind");
    let began = Instant::now();
    let output = site.output(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(began.elapsed() < Duration::from_secs(4));
    let wanted = format!("bind() to 127.0.0.1:{} failed (98: Address already in use)", site.port);
    assert!(stderr(&output).contains(&wanted), "{}", stderr(&output));
    let holder = format!("help: the address is in use by process {} (", std::process::id());
    assert!(stderr(&output).contains(&holder), "{}", stderr(&output));
    let log = site.read("error.log");
    assert!(log.contains(&wanted) && log.contains(&holder), "{log}");
    assert!(!site.path("nginx.pid").exists());
}

#[test]
fn two_servers_never_share_an_address_even_with_reuseport() {
    let mut site = ServerSite::new();
    let text = site
        .configuration("daemon off;")
        .replace(&format!("{};", site.port), &format!("{} reuseport;", site.port));
    site.write("nginx.conf", &text);
    site = site.start();
    let other = ServerSite::new();
    other.write("nginx.conf", &text);
    let output = other.output(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("Address already in use"), "{}", stderr(&output));
    assert_eq!(site.get(), Some(200));
}

#[test]
fn a_signal_without_a_server_is_an_error() {
    let site = ServerSite::plain();
    let output = site.output(&["-s", "stop"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(
        text.contains("[error]") && text.contains("nginx.pid\" failed (2: No such file or directory)"),
        "{text}"
    );
    site.write("nginx.pid", "soon\n");
    let text = stderr(&site.output(&["-s", "stop"]));
    assert!(text.contains("invalid PID number \"soon\""), "{text}");
    fs::remove_file(site.path("nginx.pid")).expect("remove");
}

#[test]
fn parameter_without_effect_is_warned_about_and_unsupported_one_is_rejected() {
    let site = ServerSite::plain();
    let text = site.configuration("daemon off;");
    let port = format!("{};", site.port);
    site.write("nginx.conf", &text.replace(&port, &format!("{} deferred;", site.port)));
    let output = site.output(&["-t"]);
    assert!(
        output.status.success() && stderr(&output).contains("[warn] \"deferred\""),
        "{}",
        stderr(&output)
    );
    site.write(
        "nginx.conf",
        &text.replace("access_log access.log", "error_log memory:1m; access_log access.log"),
    );
    let output = site.output(&["-t"]);
    assert!(!output.status.success() && stderr(&output).contains("memory:"), "{}", stderr(&output));
}

#[test]
fn a_near_command_is_suggested() {
    for (words, near) in [(&["purg", "/a"][..], "purge"), (&["cache", "shwo", "/a"], "show")] {
        let output = myriad().args(words).output().expect("output");
        let errors = stderr(&output);
        assert!(
            !output.status.success() && errors.contains(&format!("did you mean \"{near}\"?")),
            "{errors}"
        );
    }
}

/// Tests a machine without the default prefix.
#[test]
fn a_configuration_alone_is_tested_in_its_own_folder() {
    let site = ServerSite::plain();
    let test = || myriad().arg("-t").arg("-c").arg(site.path("nginx.conf")).output().expect("output");
    if std::path::Path::new("/usr/local/myriad").is_dir() {
        return;
    }
    let output = test();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(site.path("error.log").exists() && site.path("access.log").exists());
    // Files without a directive are in logs/; the error for a missing folder includes a remedy.
    site.write("nginx.conf", &site.read("nginx.conf").replace("error_log error.log debug;", ""));
    fs::remove_dir_all(site.path("logs")).expect("remove");
    let errors = stderr(&test());
    let folder = site.path("logs");
    assert!(errors.contains(&format!("help: create the folder: mkdir -p {}", folder.display())), "{errors}");
    assert!(errors.contains(&format!("relative to the prefix {} (-p)", site.folder.display())), "{errors}");
    site.write("nginx.conf", &site.configuration("daemon off;").replace("pid nginx.pid;", ""));
    let output = test();
    assert!(
        !output.status.success() && stderr(&output).contains("logs/nginx.pid\" failed (2: No such"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_log_folder_that_is_not_there_fails_the_test() {
    let site = ServerSite::plain();
    site.write("nginx.conf", &site.configuration("daemon off;").replace("access.log", "absent/access.log"));
    let output = site.output(&["-t"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("absent/access.log\" failed (2: No such file or directory)"),
        "{}",
        stderr(&output)
    );
}
