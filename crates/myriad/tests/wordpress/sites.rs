//! Tests of several sites in one process: `--site` and `--sites`.

use std::fs;

use super::{KilledServer, asked, free_address};
use crate::support::origin::FastcgiOrigin;
use crate::support::{self, ServerSite, myriad, stderr, stdout, wait_for};

/// Creates a folder of WordPress below the folder of the site.
fn root(site: &ServerSite, name: &str) -> String {
    fs::create_dir_all(site.path(name).join("wp-includes")).expect("folders");
    site.write(&format!("{name}/index.php"), "<?php\n");
    site.path(name).display().to_string()
}

fn php(text: &str) -> FastcgiOrigin {
    FastcgiOrigin::answering(format!("Content-Type: text/plain\r\nCache-Control: max-age=60\r\n\r\n{text}"))
}

/// Requests a page of this host. Returns status, body and cache status.
fn seen(site: &ServerSite, host: &str) -> (u16, String, Option<String>) {
    let host = format!("Host: {host}");
    let mut stream = support::answer::connect(("127.0.0.1", site.port));
    let request = format!("GET /page/ HTTP/1.1\r\n{host}\r\nConnection: close\r\n\r\n");
    std::io::Write::write_all(&mut stream, request.as_bytes()).expect("a request");
    let answer = support::answer::read(stream);
    (answer.status, answer.text(), answer.field("X-Cache").map(str::to_owned))
}

fn several(site: &ServerSite, arguments: &[&str]) -> std::process::Command {
    let mut command = myriad();
    command.arg("wordpress").arg("--prefix").arg(&site.folder).args(arguments);
    command
}

#[test]
fn several_sites_have_names_folders_php_and_caches_of_their_own() {
    let site = ServerSite::new();
    let (a, b, c) = (php("of a"), php("of b"), php("of c"));
    let line = |name: &str, folder: &str, php: &FastcgiOrigin| {
        format!("{name} {} 127.0.0.1:{}\n", root(&site, folder), php.port)
    };
    let logged = line("a.test,www.a.test", "a", &a).replace('\n', " log=json\n");
    let two = format!("# the sites\n{logged}\n{}", line("*.b.test", "b", &b));
    site.write("sites", &two);
    let file = site.path("sites").display().to_string();
    let listen = format!("127.0.0.1:{}", site.port);
    let errors = fs::File::create(site.path("err")).expect("err");
    let mut server = several(&site, &["--sites", &file, "--listen", &listen]);
    let mut child = KilledServer(server.stderr(errors).spawn().expect("start"));
    wait_for("a server", || site.read("err").contains("  stop "));

    for (host, text) in [("a.test", "of a"), ("x.b.test", "of b")] {
        for status in ["MISS", "HIT"] {
            assert_eq!(seen(&site, host), (200, text.to_owned(), Some(status.to_owned())), "{host}");
        }
    }
    assert_eq!(seen(&site, "www.a.test").1, "of a");
    assert_eq!((seen(&site, "c.test").0, seen(&site, "127.0.0.1").0), (421, 421), "host names of no site");
    let listed = |zone: &str| {
        let mut command = myriad();
        command.args(["cache", "ls", "--zone", zone, "-p"]).arg(&site.folder);
        stdout(&command.output().expect("a list")).lines().skip(1).count()
    };
    assert_eq!((listed("a.test"), listed("_.b.test")), (2, 1));
    assert!(site.path("cache/a.test").is_dir() && site.path("cache/_.b.test").is_dir());

    site.write("sites", &format!("{two}c.test\n"));
    // The command reports the result itself.
    let refused = asked(&site, "reload");
    assert_eq!(refused.status.code(), Some(1));
    let goes_on = format!("process {} continues with the previous configuration", child.id());
    for part in ["sites:5: the line is incomplete", &goes_on] {
        assert!(stderr(&refused).contains(part), "{part}: {}", stderr(&refused));
    }
    assert!(site.read("err").contains("sites:5: the line is incomplete"));
    assert_eq!((seen(&site, "a.test").1, seen(&site, "c.test").0), ("of a".to_owned(), 421));
    site.write("sites", &format!("{two}{}", line("c.test", "c", &c)));
    let taken = asked(&site, "reload");
    assert!(taken.status.success(), "{}", stderr(&taken));
    assert_eq!(stdout(&taken), format!("process {} reloaded the configuration\n", child.id()));
    assert_eq!(seen(&site, "c.test").1, "of c", "the new configuration is in effect");
    if cfg!(feature = "tools") {
        check_doctor_of_several_sites(&site);
    }
    assert_eq!(seen(&site, "a.test").2.as_deref(), Some("HIT"), "the other sites keep their pages");
    assert!(asked(&site, "stop").status.success());
    assert!(child.wait().expect("end").success());
    // A site with an access log has its own requests logged, not those of other sites.
    let lines = site.read("logs/a.test.access.log");
    assert_eq!(lines.matches("/page/").count(), 5, "{lines}");
    assert!(!site.path("logs/access.log").exists() && !site.path("logs/_.b.test.access.log").exists());
    if !cfg!(feature = "tools") {
        return;
    }
    let table = myriad().args(["log", "-p"]).arg(&site.folder).output().expect("a table");
    for part in ["5 requests", "Most cache misses", "MISS"] {
        assert!(stdout(&table).contains(part), "{part}: {}{}", stdout(&table), stderr(&table));
    }
}

/// Checks that the doctor requires the URL of one of the sites.
fn check_doctor_of_several_sites(site: &ServerSite) {
    let doctor = |url: &[&str]| {
        let output = myriad().arg("doctor").args(url).arg("-p").arg(&site.folder).output().expect("a doctor");
        assert_eq!(output.status.code(), Some(3));
        stderr(&output)
    };
    let report = doctor(&[]);
    assert!(report.contains("several sites: a.test, *.b.test, c.test; specify one"), "{report}");
    let report = doctor(&["http://x.b.test/", "--at", "127.0.0.1:9"]);
    assert!(report.contains("check that Myriad is running"), "{report}");
    let report = doctor(&["http://d.test/"]);
    assert!(report.contains("d.test is not one of the sites of this server: a.test"), "{report}");
}

#[test]
fn lines_of_several_sites_are_printed_as_servers_and_refused_by_their_place() {
    let site = ServerSite::new();
    let (a, b) = (root(&site, "a"), root(&site, "b"));
    let one = format!("a.test,www.a.test {a} 127.0.0.1:9001 https");
    let other = format!("b.test {b} 127.0.0.1:9002");
    let (listen, https) = (free_address(&site), format!("127.0.0.1:{}", support::free_port()));
    let listens = ["--listen", &listen, "--https-listen", &https];
    let sites = ["--site", &one, "--site", &other, "--email", "me@a.test", "--print"];
    let printed = several(&site, &[&sites[..], &listens].concat());
    let printed = { printed }.output().expect("print");
    assert!(printed.status.success(), "{}", stderr(&printed));
    let text = stdout(&printed);
    let count = |part: &str| text.matches(part).count();
    assert_eq!(
        (
            count("\n    server {"),
            count(" default_server;") > 1 + usize::from(cfg!(feature = "http3")),
            count("return 421;")
        ),
        (3, true, 1)
    );
    assert!(text.contains("# The secret of the dashboard is generated at the first start"), "{text}");
    assert_eq!(
        (count("acme_issuer letsencrypt {"), count("acme_certificate letsencrypt a.test www.a.test;")),
        (1, 1)
    );
    assert_eq!(count("ssl_reject_handshake on;"), 1);
    assert_eq!((count("keys_zone=a.test:"), count("keys_zone=b.test:")), (1, 1));
    assert_eq!((count("fastcgi_cache a.test;"), count("fastcgi_cache b.test;")), (1, 1));
    assert!(!text.lines().any(|line| !line.trim_start().starts_with('#') && line.contains("{{")), "{text}");
    site.write("site.conf", &text);
    let tested =
        myriad().arg("-t").arg("-p").arg(&site.folder).args(["-c", "site.conf"]).output().expect("test");
    assert!(tested.status.success(), "{}", stderr(&tested));

    site.write("sites", "\n\nc.test /nowhere 127.0.0.1:9003\n");
    let file = site.path("sites").display().to_string();
    for (arguments, said) in [
        (&["--sites", &file][..], format!("wordpress: {file}:3: folder /nowhere: No such file")),
        (&["--sites", "/nowhere/sites"], "--sites /nowhere/sites: No such file".to_owned()),
        (&["--site", "a.test /a"], "wordpress: --site 1: the line is incomplete".to_owned()),
        (&["--site", &one, "--site", &one], "--site 2: \"a.test\" is also a name of --site 1".to_owned()),
        (&["--site", &one, "--root", &a], "--root is only valid for a single site".to_owned()),
        (
            &["--site", &other, "--email", "me@a.test"],
            "--email requires --domain, or `https` in a line".to_owned(),
        ),
    ] {
        let output = several(&site, arguments).arg("-t").output().expect("run");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(stderr(&output).contains(&said), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn names_of_a_site_whose_check_fails_get_503_while_the_others_are_served() {
    let site = ServerSite::new();
    let (a, b) = (php("of a"), php("of b"));
    let line =
        |name: &str, php: &FastcgiOrigin| format!("{name} {} 127.0.0.1:{}\n", root(&site, name), php.port);
    site.write("no-socket", "");
    let no_socket = format!("c.test {} {}\n", root(&site, "c.test"), site.path("no-socket").display());
    site.write("sites", &(line("a.test", &a) + &line("b.test", &b) + &no_socket));
    fs::rename(site.path("b.test/wp-includes"), site.path("away")).expect("renamed");
    let file = site.path("sites").display().to_string();
    let listen = format!("127.0.0.1:{}", site.port);
    let errors = fs::File::create(site.path("err")).expect("err");
    let mut server = several(&site, &["--sites", &file, "--listen", &listen]);
    let mut child = KilledServer(server.stderr(errors).spawn().expect("start"));
    wait_for("a server", || site.read("err").contains("  stop "));
    assert_eq!(seen(&site, "a.test").1, "of a");
    assert_eq!((seen(&site, "b.test").0, seen(&site, "c.test").0, seen(&site, "d.test").0), (503, 503, 421));
    let told = site.read("err");
    for part in [
        "sites:2: ",
        "b.test contains no WordPress; set folder to the folder with index.php",
        "current; requests for b.test get 503 until this site passes",
        "sites:3: php ",
        "is not a socket; requests for c.test get 503",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    // A reload serves a site whose check succeeds again, and no longer one whose check fails.
    fs::rename(site.path("away"), site.path("b.test/wp-includes")).expect("renamed");
    fs::remove_file(site.path("a.test/index.php")).expect("removed");
    assert!(asked(&site, "reload").status.success());
    assert_eq!(seen(&site, "b.test").1, "of b");
    assert_eq!(seen(&site, "a.test").0, 503);
    // If no site is left, the running configuration stays in use.
    fs::remove_file(site.path("b.test/index.php")).expect("removed");
    assert!(!asked(&site, "reload").status.success());
    assert_eq!(seen(&site, "b.test").1, "of b");
    assert!(asked(&site, "stop").status.success());
    assert!(child.wait().expect("end").success());
}

/// Creates a pipe without a writer, which blocks when opened for reading.
fn pipe(path: &std::path::Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo");
    assert!(made.success());
}

#[test]
fn pipe_or_link_in_place_of_a_file_of_one_site_stops_no_command_for_the_others() {
    let site = ServerSite::new();
    let (a, b) = (php("of a"), php("of b"));
    let line =
        |name: &str, php: &FastcgiOrigin| format!("{name} {} 127.0.0.1:{}\n", root(&site, name), php.port);
    site.write("sites", &(line("a.test", &a) + &line("b.test", &b)));
    pipe(&site.path("b.test/wp-config.php"));
    fs::create_dir(site.path("b.test/wp-content")).expect("a folder");
    pipe(&site.path("b.test/wp-content/object-cache.php"));
    pipe(&site.path("b.test/.htaccess"));
    let file = site.path("sites").display().to_string();
    let listen = format!("127.0.0.1:{}", site.port);
    let errors = fs::File::create(site.path("err")).expect("err");
    let mut server = several(&site, &["--sites", &file, "--listen", &listen]);
    let mut child = KilledServer(server.stderr(errors).spawn().expect("start"));
    wait_for("a server", || site.read("err").contains("  stop "));
    assert_eq!(seen(&site, "a.test").1, "of a");

    let finished = |what: &str, mut command: std::process::Command| {
        let mut child = KilledServer(command.stdout(std::process::Stdio::null()).spawn().expect(what));
        wait_for(what, || child.try_wait().expect("wait").is_some());
        child.wait().expect("ended").success()
    };
    assert!(finished("a test", several(&site, &["--sites", &file, "--listen", &listen, "-t"])));
    let reload = |word: &str| {
        let mut command = myriad();
        command.args(["wordpress", word, "--prefix"]).arg(&site.folder);
        command
    };
    assert!(finished("a reload", reload("reload")));
    let one = ["--root", &site.path("b.test").display().to_string(), "--remove-object-cache"];
    assert!(
        !finished("a removal", several(&site, &one)),
        "a pipe in place of object-cache.php is not removed"
    );
    let mut import = myriad();
    import.arg("import").arg(site.path("b.test/.htaccess"));
    assert!(!finished("an import", import));
    support::send("TERM", child.id());
    wait_for("the end", || child.try_wait().expect("wait").is_some());
}
