//! Tests of a running server and its folder: status, reload, stop, a second start, an upgrade.

use super::{KilledServer, asked, command, refused, site_with_wordpress, started};
use crate::support::{self, ServerSite, is_alive, myriad, send, stderr, stdout, upgraded, wait_for};

#[test]
fn server_prints_its_settings_and_prefix_selects_it_for_status_reload_and_stop() {
    let site = site_with_wordpress();
    let none = asked(&site, "status");
    assert_eq!(none.status.code(), Some(3));
    assert!(stderr(&none).contains("no server is running on"), "{}", stderr(&none));

    let child = started(&site, &["--php", "127.0.0.1:9"]);
    let errors = site.read("err");
    let facts = [
        format!("running as process {}\n", child.id()),
        format!("  listens   http://127.0.0.1:{}\n", site.port),
        format!("  cache     {}/cache/wordpress\n", site.folder.display()),
        format!("Ctrl-C, or: myriad wordpress stop --prefix {}\n", site.folder.display()),
    ];
    for fact in &facts {
        assert!(errors.contains(fact), "{fact}: {errors}");
    }
    assert!(errors.contains("  user      "), "{errors}");
    assert_eq!(site.read("out"), "");
    let dashboard: u16 = site.read("dashboard/port").trim().parse().expect("a port");
    assert!(
        errors.contains(&format!("  dashboard http://127.0.0.1:{dashboard}/, on this machine only")),
        "{errors}"
    );
    assert_eq!(support::get_path(dashboard, "/"), Some(200));
    for path in ["/cache", "/tops", "/live", "/inspect?url=/", "/api/cache"] {
        assert_eq!(support::get_path(dashboard, path), Some(403), "{path} needs the secret");
    }
    assert_eq!(
        support::get_path(site.port, "/cache"),
        Some(502),
        "the dashboard is not available at the port of the site"
    );

    assert_eq!(support::get_path(site.port, "/index.php"), Some(502));
    let status = asked(&site, "status");
    assert!(status.status.success(), "{}", stderr(&status));
    let status_text = stdout(&status);
    assert!(status_text.starts_with(&format!("runs      process {}, for ", child.id())), "{status_text}");
    assert!(status_text.contains(&facts[1][2..]) && status_text.contains(&facts[2][2..]), "{status_text}");
    // The link for the server's owner contains the secret; the log does not.
    let secret = site.read("dashboard/secret").trim().to_owned();
    let link = format!("dashboard http://127.0.0.1:{dashboard}/#secret={secret}, on this machine only\n");
    assert!(status_text.contains(&link), "{status_text}");
    assert!(errors.contains("; its secret: ") && !errors.contains(&secret), "{errors}");
    assert!(!site.read("myriad.lock").contains(&secret));
    assert!(
        status_text.contains("hits      0 of 2 pages from the cache (0.0 %), 0 bypassed it"),
        "{status_text}"
    );

    let worker = support::children_of(child.id());
    assert!(asked(&site, "reload").status.success());
    // `-s reload` is counted too.
    let reloads = |count: u32| site.read("myriad.lock").contains(&format!("\nreloads {count} {count}\n"));
    assert!(reloads(1));
    for word in ["reload", "reopen"] {
        let output = myriad().args(["-s", word, "-p"]).arg(&site.folder).output().expect("told");
        assert!(output.status.success(), "{}", stderr(&output));
    }
    wait_for("another reload", || reloads(2));
    assert_eq!(support::get_path(dashboard, "/"), Some(200), "a reload preserves the port of the dashboard");
    assert!(asked(&site, "status").status.success());
    assert_eq!(support::children_of(child.id()), worker);

    // A server that does not respond counts as failed.
    let (socket, away) = (site.path("myriad.sock"), site.path("away.sock"));
    std::fs::rename(&socket, &away).expect("renamed");
    let silent = asked(&site, "status");
    assert_eq!(silent.status.code(), Some(1), "{}", stdout(&silent));
    assert!(
        stdout(&silent).contains("hits      unknown: no Myriad server is running"),
        "{}",
        stdout(&silent)
    );
    std::fs::rename(&away, &socket).expect("renamed");

    stop_ends_the_server(&site, child);
}

/// Stops the server and checks that commands find none afterwards.
fn stop_ends_the_server(site: &ServerSite, mut child: KilledServer) {
    let stopped = asked(site, "stop");
    assert!(stopped.status.success(), "{}", stderr(&stopped));
    assert!(!is_alive(child.id()), "the command returned before the server exited");
    assert!(child.wait().expect("end").success());
    assert!(!site.path("myriad.pid").exists());
    for word in ["stop", "reload", "status"] {
        assert_eq!(asked(site, word).status.code(), Some(3), "{word}");
    }
    let wrong = myriad().args(["wordpress", "stop", "now"]).output().expect("stop");
    assert!(stderr(&wrong).contains("unexpected argument \"now\""), "{}", stderr(&wrong));
}

#[test]
fn reload_that_was_asked_for_meanwhile_is_done_where_the_first_has_failed() {
    let site = site_with_wordpress();
    let server = started(&site, &["--php", "127.0.0.1:9"]);
    let reloads = |begun: u32, ended: u32| {
        wait_for("reloads", || site.read("myriad.lock").contains(&format!("\nreloads {begun} {ended}\n")));
    };
    let worker = support::children_of(server.id())[0];
    send("STOP", worker);
    send("HUP", server.id());
    reloads(1, 0);
    send("HUP", server.id());
    wait_for("the signal to be taken", || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).expect("status");
        status.lines().any(|line| {
            line.strip_prefix("ShdPnd:").is_some_and(|set| set.trim().trim_matches('0').is_empty())
        })
    });
    send("KILL", worker);
    reloads(2, 2);
    assert!(site.read("err").contains("the new configuration was rejected"), "{}", site.read("err"));
    let dashboard: u16 = site.read("dashboard/port").trim().parse().expect("a port");
    wait_for("the new worker", || support::get_path(dashboard, "/") == Some(200));
    wait_for("one worker", || support::children_of(server.id()).len() == 1);
    assert!(asked(&site, "reload").status.success());
}

#[test]
fn second_start_on_a_folder_is_refused_and_harms_the_first_in_nothing() {
    let site = site_with_wordpress();
    let mut first = started(&site, &["--php", "127.0.0.1:9"]);
    let port = format!("127.0.0.1:{}", support::free_port());
    let errors = refused(&site, &mut command(&site, &["--php", "127.0.0.1:9", "--listen", &port]));
    assert!(errors.contains(&format!("is in use by process {}: stop it with", first.id())), "{errors}");
    assert_eq!(site.read("myriad.pid"), format!("{}\n", first.id()));
    assert!(asked(&site, "status").status.success(), "the control socket still belongs to the first server");
    let tested = command(&site, &["--php", "127.0.0.1:9", "--listen", &port, "-t"]).output().expect("test");
    assert!(
        tested.status.success(),
        "a configuration test failed while the server was running: {}",
        stderr(&tested)
    );

    // Files left by a crash do not prevent the start.
    first.kill().expect("kill");
    first.wait().expect("end");
    assert_eq!(site.read("myriad.pid"), format!("{}\n", first.id()));
    let mut next = started(&site, &["--php", "127.0.0.1:9"]);
    send("TERM", next.id());
    assert!(next.wait().expect("end").success());
}

#[test]
fn folder_is_held_through_an_upgrade_and_when_that_is_taken_back() {
    let site = site_with_wordpress();
    let mut old = started(&site, &["--php", "127.0.0.1:9"]);
    let reports_process =
        |pid: u32| stdout(&asked(&site, "status")).starts_with(&format!("runs      process {pid},"));
    let another_is_refused = || {
        let errors = refused(&site, &mut command(&site, &["--php", "127.0.0.1:9"]));
        assert!(errors.contains("is in use by process"), "{errors}");
    };
    let upgrade = |old: u32| {
        let new = upgraded(&site, "myriad.pid", old);
        wait_for("status to report the new process", || reports_process(new));
        new
    };
    let new = upgrade(old.id());
    another_is_refused();
    send("QUIT", new);
    wait_for("status to report the old process again", || reports_process(old.id()));
    another_is_refused();
    let new = upgrade(old.id());
    send("QUIT", old.id());
    assert!(old.wait().expect("end").success());
    assert!(reports_process(new), "the new process does not hold the lock");
    another_is_refused();

    // The command finds the server by the lock of its folder, and rejects a pid file that the holder of the lock has
    // not written.
    let upgrade = || myriad().args(["upgrade", "-p"]).arg(&site.folder).output().expect("an upgrade");
    site.write("myriad.pid", &format!("{}\n", std::process::id()));
    let doubted = stderr(&upgrade());
    assert!(
        doubted.contains(&format!("myriad.pid does not contain process {new}, which has locked")),
        "{doubted}"
    );
    site.write("myriad.pid", &format!("{new}\n"));
    let done = upgrade();
    assert!(done.status.success(), "{}", stderr(&done));
    wait_for("status to report the next process", || !is_alive(new) && !reports_process(new));
    assert!(asked(&site, "stop").status.success());
    assert_eq!(asked(&site, "status").status.code(), Some(3));
}

#[test]
fn installing_the_plugin_warns_if_no_server_uses_the_prefix() {
    let site = site_with_wordpress();
    std::fs::create_dir(site.path("html/wp-content")).expect("a folder");
    let install = || command(&site, &["--install-plugin"]).output().expect("a run");
    let alone = install();
    assert!(alone.status.success(), "{}", stderr(&alone));
    let warning = format!("no server is running with the prefix {}", site.folder.display());
    assert!(stderr(&alone).contains(&warning), "{}", stderr(&alone));
    assert!(!stdout(&alone).contains("wordpress reload"), "{}", stdout(&alone));
    let _server = started(&site, &["--php", "127.0.0.1:9"]);
    let output_beside = install();
    assert_eq!(stderr(&output_beside), "");
    let reload = format!("myriad wordpress reload --prefix {}\n", site.folder.display());
    assert!(stdout(&output_beside).contains(&reload), "{}", stdout(&output_beside));
}

#[test]
fn start_message_names_the_active_cache_plugin_and_the_shorter_validity() {
    let site = site_with_wordpress();
    std::fs::create_dir_all(site.path("html/wp-content/cache/supercache")).expect("folders");
    let start = || {
        let _server = started(&site, &["--php", "127.0.0.1:9"]);
        site.read("err")
    };
    assert!(!start().contains("WP Super Cache"), "an empty folder is not an active plugin");
    site.write("html/wp-content/advanced-cache.php", "<?php\n# WP SUPER CACHE 1.2\n");
    let message = start();
    assert!(
        message.contains("pages that WP Super Cache wrote to wp-content/cache/supercache are served"),
        "{message}"
    );
    assert!(message.contains("valid for 10s"), "{message}");
}
