//! `myriad doctor` with a real WordPress: no errors on a healthy site, and provoked errors are reported with their
//! remedies.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use myriad_tests::{HttpOrigin, Place, Request, Server, WordPress, binary, signal, wait_for};
use rustix::process::Signal;

/// Returns the folder of a site.
fn folder(site: &WordPress) -> PathBuf {
    site.root().parent().expect("a folder").to_owned()
}

/// Adds a pool with these lines to the site's php-fpm; returns its socket.
fn pool(site: &WordPress, name: &str, lines: &str) -> PathBuf {
    let folder = folder(site);
    let own = std::fs::read_to_string(folder.join("etc/php-fpm.conf")).expect("php-fpm.conf");
    let identity: Vec<_> =
        own.lines().filter(|line| line.starts_with("user =") || line.starts_with("group =")).collect();
    let identity = identity.join("\n") + "\n";
    let socket = folder.join(format!("run/php-{name}.sock"));
    let text = format!(
        "[{name}]\n{identity}listen = {}\nlisten.mode = 0666\npm = static\npm.max_children = 2\npm.status_path = /fpm-status\n{lines}",
        socket.display()
    );
    std::fs::write(folder.join(format!("etc/pools/{name}.conf")), text).expect("pool");
    let pid = std::fs::read_to_string(folder.join("run/php.pid")).expect("pid").trim().parse().expect("pid");
    signal(pid, Signal::USR2);
    wait_for("the pool", || UnixStream::connect(&socket).is_ok());
    socket
}

fn doctor(arguments: &[&str]) -> Output {
    Command::new(binary()).arg("doctor").args(arguments).output().expect("myriad starts")
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Returns the control socket of a server, next to its pid file.
fn control_socket(server: &Server) -> PathBuf {
    let places = ["myriad.sock", "nginx.sock", "logs/nginx.sock"].map(|name| server.path(name));
    places.into_iter().find(|path| path.exists()).unwrap_or_else(|| server.path("myriad.sock"))
}

/// Runs the doctor on a site with a server and a php-fpm; the output is JSON.
fn look(site: &WordPress, server: &Server, php: &str) -> Output {
    let (root, prefix) = (site.root().display().to_string(), server.folder().display().to_string());
    let socket = control_socket(server).display().to_string();
    let url = format!("http://127.0.0.1:{}/", server.port);
    doctor(&[&url, "--json", "--root", &root, "--php", php, "-p", &prefix, "--socket", &socket])
}

/// Returns severity and text of the findings of a check.
fn findings<'t>(text: &'t str, check: &str) -> Vec<(&'t str, &'t str)> {
    let beginning = format!("{{\"check\":\"{check}\",\"severity\":\"");
    let found = text.match_indices(&beginning).map(|(at, _)| &text[at + beginning.len()..]);
    found
        .map(|rest| rest.split_once('"').expect("a severity"))
        .map(|(severity, rest)| (severity, rest.split('}').next().expect("an end")))
        .collect()
}

#[test]
fn sound_site_has_nothing_bad() {
    let site = WordPress::alone();
    let php = pool(&site, "sound", "").display().to_string();
    let server = site.serve_changed(Place::new(), &php, |preset| preset);
    let output = look(&site, &server, &php);
    let text = told(&output);
    for check in [
        "opcache-off",
        "opcache-full",
        "upload-sizes",
        "children-too-few",
        "children-too-many",
        "children-assumed",
        "trusted-proxy",
        "database-version",
        "slow-queries",
        "connections",
        "page-cache-plugin",
        "page-not-cached",
        "compression",
        "tls-proxy",
        "nonces",
        "hit-rate",
        "files-expires",
        "files-compression",
        "files-etag",
        "files-denied",
    ] {
        let found = findings(&text, check);
        assert!(
            !found.is_empty() && found.iter().all(|(severity, _)| *severity == "fine"),
            "{check}: {found:?}\n{text}"
        );
    }
    // The site has no object cache, so the exit code signals a warning.
    assert_eq!(
        findings(&text, "object-cache").first().map(|(severity, _)| *severity),
        Some("warning"),
        "{text}"
    );
    // Findings about the machine (OOM kills, swap) are not errors of the site.
    let bad = text.matches("\"severity\":\"bad\"").count();
    let of_machine = ["oom", "swap"]
        .iter()
        .flat_map(|check| findings(&text, check))
        .filter(|(severity, _)| *severity == "bad");
    assert_eq!(bad, of_machine.count(), "{text}");
    assert!(matches!(output.status.code(), Some(1 | 2)), "{:?}", output.status);
}

#[test]
fn provoked_faults_are_found_and_named() {
    let site = WordPress::alone();
    let plugin = "<?php add_action('send_headers', function () { setcookie('visit_id', bin2hex(random_bytes(4)), 0, '/'); });";
    std::fs::write(site.root().join("wp-content/mu-plugins/visit-counter.php"), plugin).expect("plugin");
    let php = pool(
        &site,
        "broken",
        "php_admin_flag[opcache.enable] = off\nphp_admin_value[upload_max_filesize] = 65M\n",
    )
    .display()
    .to_string();
    let server = site.serve_changed(Place::new(), &php, |preset| preset.replacen("gzip on;", "gzip off;", 1));
    // A plugin with `.htaccess` files, installed after the start.
    let orders = site.root().join("wp-content/uploads/orders");
    std::fs::create_dir_all(&orders).expect("folder");
    std::fs::write(orders.join("book 1.pdf"), "sold").expect("file");
    std::fs::write(orders.join(".htaccess"), "Require all denied\n").expect("file");
    let output = look(&site, &server, &php);
    let text = told(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    let is = |check: &str, severity: &str, part: &str| {
        findings(&text, check).iter().any(|(found, told)| *found == severity && told.contains(part))
    };
    assert!(is("opcache-off", "bad", "OPcache is off"), "{text}");
    assert!(is("files-denied", "bad", "/wp-content/uploads/orders/book%201.pdf"), "{text}");
    assert!(is("compression", "warning", "home is sent without compression"), "{text}");
    assert!(is("files-compression", "warning", "without compression"), "{text}");
    assert!(is("upload-sizes", "warning", "large uploads fail"), "{text}");
    let cookie = "sets the cookie visit_id for all visitors, set by mu-plugins/visit-counter.php";
    assert!(is("page-not-cached", "bad", cookie) || is("cookie-dropped", "warning", cookie), "{text}");
    // In the text output the most severe finding comes first.
    let root = site.root().display().to_string();
    let url = format!("http://127.0.0.1:{}/", server.port);
    let shown = told(&doctor(&[&url, "--root", &root, "--php", &php]));
    let first = shown.lines().nth(2).expect("a finding");
    assert!(first.starts_with("BAD      "), "{shown}");
    // A plugin that redirects to https unless a proxy sends a nonstandard field.
    let looping = "<?php add_action('send_headers', function () { if (!isset($_SERVER['HTTP_FRONT_END_HTTPS'])) { wp_redirect('https://' . $_SERVER['HTTP_HOST'] . $_SERVER['REQUEST_URI'], 301); exit; } });";
    std::fs::write(site.root().join("wp-content/mu-plugins/looping.php"), looping).expect("plugin");
    let mut purge = Command::new(binary());
    let purged = purge.args(["purge", "--all", "--wait", "--socket"]).arg(control_socket(&server)).output();
    assert!(purged.expect("myriad starts").status.success());
    let text = told(&look(&site, &server, &php));
    let proxy = findings(&text, "tls-proxy");
    assert!(
        proxy.iter().any(|(severity, told)| *severity == "bad" && told.contains("redirects to itself")),
        "{text}"
    );
    // A database that rejects WordPress.
    let configuration = site.root().join("wp-config.php");
    let before = std::fs::read_to_string(&configuration).expect("wp-config.php");
    std::fs::write(&configuration, format!("<?php define( 'DB_PASSWORD', 'wrong' ); ?>{before}"))
        .expect("wp-config.php");
    let output = look(&site, &server, &php);
    let text = told(&output);
    assert!(
        findings(&text, "database")
            .iter()
            .any(|(severity, told)| *severity == "bad" && told.contains("cannot connect to its database")),
        "{text}"
    );
}

/// Installs and activates an ordinary plugin.
fn plugin(site: &WordPress, server: &Server, name: &str, code: &str) {
    let folder = site.root().join("wp-content/plugins").join(name);
    std::fs::create_dir_all(folder.join("inc")).expect("folder");
    let head = format!("<?php\n/* Plugin Name: {name} */\nrequire __DIR__ . '/inc/visit.php';\n");
    std::fs::write(folder.join(format!("{name}.php")), head).expect("plugin");
    std::fs::write(folder.join("inc/visit.php"), format!("<?php {code}")).expect("plugin");
    let activates = format!(
        "require_once ABSPATH . 'wp-admin/includes/plugin.php'; echo activate_plugin('{name}/{name}.php') ?? 'active';"
    );
    assert_eq!(site.run_php(&format!("127.0.0.1:{}", server.port), &activates), "active");
}

#[test]
fn plugin_that_sets_a_cookie_on_every_page_is_named() {
    let site = WordPress::alone();
    let php = pool(&site, "cookies", "").display().to_string();
    let server = site.serve_changed(Place::new(), &php, |preset| preset);
    let says = |part: &str| {
        let text = told(&look(&site, &server, &php));
        let found = findings(&text, "page-not-cached");
        let named = found.iter().any(|(severity, told)| *severity == "bad" && told.contains(part));
        assert!(named, "{part}\n{found:?}");
        assert!(!text.contains("old-forms"), "{text}");
    };
    // An inactive plugin sets no cookie, regardless of its files.
    let inactive = site.root().join("wp-content/plugins/old-forms");
    std::fs::create_dir_all(&inactive).expect("folder");
    std::fs::write(
        inactive.join("old-forms.php"),
        "<?php /* Plugin Name: old */ session_start(); setcookie('last_seen_by', 1);",
    )
    .expect("a plugin");
    // A session: no file contains the name of its cookie.
    plugin(
        &site,
        &server,
        "contact-form",
        "add_action('init', function () { if (!session_id()) session_start(); });",
    );
    says("sets the cookie PHPSESSID for all visitors, set by plugins/contact-form");
    let off = "require_once ABSPATH . 'wp-admin/includes/plugin.php'; deactivate_plugins('contact-form/contact-form.php');";
    site.run_php(&format!("127.0.0.1:{}", server.port), off);
    // A cookie with a literal name that is not in the preset's list of impersonal cookies.
    let code = "add_action('send_headers', function () { setcookie('last_seen_by', bin2hex(random_bytes(4)), 0, '/'); });";
    plugin(&site, &server, "last-seen", code);
    says("sets the cookie last_seen_by for all visitors, set by plugins/last-seen");
    let off = "require_once ABSPATH . 'wp-admin/includes/plugin.php'; deactivate_plugins('last-seen/last-seen.php');";
    site.run_php(&format!("127.0.0.1:{}", server.port), off);
    std::fs::remove_dir_all(site.root().join("wp-content/plugins/last-seen")).expect("removed");
    // A cookie with a computed name.
    let code = "add_action('send_headers', function () { setcookie(implode('_', ['guest', 'mark']), '1', 0, '/'); });";
    plugin(&site, &server, "guests", code);
    says("sets the cookie guest_mark for all visitors; no plugin or theme contains this name, but ");
    says("plugins/guests");
}

#[test]
fn php_that_is_down_is_the_first_finding() {
    let site = WordPress::alone();
    let php = site.php().display().to_string();
    let server = site.serve_with(&["--php-children", "32"]);
    let request = Request::get("/").host(&format!("127.0.0.1:{}", server.port));
    for client in ["198.51.100.1", "198.51.100.2", "198.51.100.3"] {
        let own = request.clone().field("X-Forwarded-For", client).field("Cookie", "PHPSESSID=1");
        assert_eq!(server.fetch(&own).status, 200);
    }
    let text = told(&look(&site, &server, &php));
    let has = |text: &str, check: &str, severity: &str, part: &str| {
        findings(text, check).iter().any(|(found, told)| *found == severity && told.contains(part))
    };
    // The pool of the site has fewer children than Myriad assumes, and its proxy is not trusted.
    assert!(
        has(&text, "children-assumed", "warning", "Myriad sends it up to 32 concurrent requests"),
        "{text}"
    );
    assert!(has(&text, "trusted-proxy", "warning", "start Myriad with --trusted-proxy 127.0.0.1"), "{text}");
    assert!(has(&text, "object-cache", "warning", "--install-object-cache redis:/run/"), "{text}");

    let purged = Command::new(binary())
        .args(["purge", "--all", "--wait", "--socket"])
        .arg(control_socket(&server))
        .output();
    assert!(purged.expect("myriad starts").status.success());
    // With KILL its children would continue without it.
    signal(site.pid("php"), Signal::TERM);
    wait_for("php-fpm to end", || UnixStream::connect(site.php()).is_err());
    let output = look(&site, &server, &php);
    let text = told(&output);
    let first = text.split("{\"check\":\"").nth(1).expect("a finding");
    assert!(first.starts_with("php-down\",\"severity\":\"bad\""), "{text}");
    assert!(first.contains("nothing listens on this address"), "{text}");
    assert!(findings(&text, "php").is_empty() && findings(&text, "wordpress").is_empty(), "{text}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn uncheckable_target_is_reported_with_remedy() {
    let closed = Place::new();
    closed.write("html/index.php", "<?php");
    let folder = closed.path("html").display().to_string();
    let url = format!("http://127.0.0.1:{}/", closed.port);
    let prefix = closed.folder().display().to_string();
    for (arguments, part) in [
        (vec![url.as_str(), "-p", &prefix], "check that Myriad is running, or give its address with --at"),
        (vec![&url, "-p", &prefix, "--root", &folder], "no WordPress found"),
        (vec!["ftp://a.test/"], "does not start with http:// or https://"),
        (vec!["http://a.test/", "b"], "unexpected argument"),
    ] {
        let output = doctor(&arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {}", told(&output));
        assert!(told(&output).contains(part), "{arguments:?}: {}", told(&output));
    }
    std::fs::create_dir_all(closed.path("html/wp-includes")).expect("folder");
    let output = doctor(&[&url, "-p", &prefix, "--root", &folder]);
    assert!(
        told(&output).contains("has no wp-config.php: complete the WordPress installation"),
        "{}",
        told(&output)
    );
    // A socket without a listener is not an error of the site: the remaining checks run.
    let site = WordPress::shared();
    let server = site.serve();
    let text = told(&look(&site, &server, "/nowhere.sock"));
    assert!(
        findings(&text, "php-down")
            .iter()
            .any(|(severity, told)| *severity == "bad" && told.contains("/nowhere.sock")),
        "{text}"
    );
    assert!(findings(&text, "page-not-cached").iter().all(|(severity, _)| *severity == "fine"), "{text}");
}

#[test]
fn files_that_a_server_compresses_after_their_first_request_are_not_reported() {
    let script = "function one() { return 1; }\n".repeat(100);
    let requests = AtomicUsize::new(0);
    let origin = HttpOrigin::start(move |call| match call.target.as_str() {
        "/" => call.answer(
            "HTTP/1.1 200 OK\nContent-Type: text/html",
            "<html><script src=\"/late.js\"></script><script src=\"/never.js\"></script></html>",
        ),
        "/late.js" if requests.fetch_add(1, Relaxed) > 0 => {
            call.answer("HTTP/1.1 200 OK\nContent-Type: text/javascript\nContent-Encoding: br", "any bytes");
        }
        "/late.js" | "/never.js" => {
            call.answer("HTTP/1.1 200 OK\nContent-Type: text/javascript", script.as_bytes());
        }
        _ => call.answer("HTTP/1.1 404 Not Found", ""),
    });
    let text = told(&doctor(&[&format!("http://{}/", origin.address), "--json"]));
    let found = findings(&text, "files-compression");
    assert!(
        matches!(found.as_slice(), [(_, told)] if told.contains("never.js") && !told.contains("late.js")),
        "{text}"
    );
}
