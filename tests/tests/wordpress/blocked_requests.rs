//! Blocked requests: files, links out of the site, password guessing.

use myriad_tests::{Request, Visitor, all_at_once};

use super::{page, start};

/// Files that administrators leave in their site, accidentally or temporarily.
const LEFT_BEHIND: [&str; 29] = [
    "error_log",
    "wp-admin/error_log",
    "server.pem",
    "site.key",
    "site.crt",
    "site.p12",
    "id_rsa",
    "id_ed25519.pub",
    "wp-content/database/site.sqlite",
    "site.sqlite3-wal",
    "site.db",
    "site.zip",
    "site.tar.gz",
    "site.sql.gz",
    "wp-content/site.wpress",
    "wp-content/updraft/backup_2026.zip",
    "wp-content/uploads/backwpup-1/site.tar",
    "auth.json",
    "Dockerfile",
    "docker-compose.override.yml",
    "web.config",
    ".user.ini",
    "prod.env",
    "license.txt",
    "licence-de.html",
    "wp-config-old",
    "wp-config.txt",
    "wp-admin/wp-config.html",
    "id_rsa.html",
];

#[test]
fn private_files_are_not_found() {
    let (site, server) = start();
    site.write(".htaccess", "secret rules");
    let evil = "<?php echo 'owned';";
    site.write("wp-content/uploads/evil.php", evil);
    for name in ["x.php.txt", "x.php_old", "x.php copy", "x.php.1", "x.php5", "X.PHP.txt"] {
        site.write(name, evil);
    }
    for name in LEFT_BEHIND {
        site.write(name, "secret rules");
        let answer = page(&server, &format!("/{name}"));
        assert_eq!(answer.status, 404, "{name}");
        assert!(!answer.text().contains("secret rules"), "{name}");
    }
    for target in [
        "/wp-config.php",
        "/wp-config.php.bak",
        "/wp-config.php/",
        "/wp-config.php/x",
        "/wp-config-sample.php/x",
        "/x.php.txt",
        "/x.php_old",
        "/x.php%20copy",
        "/x.php.1",
        "/x.php5",
        "/X.PHP.txt",
        "/wp-content/uploads/evil.php/x",
        "/.htaccess",
        "/.git/config",
        "/wp-content/uploads/evil.php",
        "/wp-content/debug.log",
        "/wp-includes/functions.php",
        "/wp-admin/setup-config.php",
        "/wp-admin/includes/file.php",
        "/readme.html",
    ] {
        let answer = page(&server, target);
        assert!(matches!(answer.status, 403 | 404), "{target}: {}", answer.status);
        assert!(!answer.text().contains("owned") && !answer.text().contains("secret rules"), "{target}");
    }
    for name in ["notes.php_.pdf", "a.place_.pdf", "paper.zip", "papers.tar.gz", "talk.key"] {
        site.write(&format!("wp-content/uploads/{name}"), "a paper");
        let answer = page(&server, &format!("/wp-content/uploads/{name}"));
        assert_eq!(
            (answer.status, &*answer.text()),
            (200, "a paper"),
            "{name}, as WordPress renames uploads"
        );
    }
    let xmlrpc = page(&server, "/xmlrpc.php");
    assert!(matches!(xmlrpc.status, 403..=405), "{}", xmlrpc.status);
    assert_ne!(xmlrpc.cache(), "HIT");
}

#[test]
fn names_of_posts_are_refused_only_where_such_a_file_exists() {
    let (_site, server) = start();
    for target in [
        "/license-to-code.html",
        "/licence-fees.html",
        "/liesmich.html",
        "/2026/11/license-notes.html",
        "/wp-config-tips/",
        "/wp-config-tips",
        "/wp-config-tips.html",
        "/wp-config",
        "/blog/error_log",
        "/blog/id_rsa",
        "/id_ecdsa.html",
    ] {
        let answer = page(&server, target);
        assert!(answer.text().contains("<html"), "WordPress answers {target}: {}", answer.status);
        assert!(matches!(answer.cache(), "MISS" | "HIT"), "{target}: {}", answer.cache());
    }
}

#[test]
fn a_link_below_uploads_leads_only_to_what_its_owner_owns() {
    let (site, server) = start();
    let uploads = site.root().join("wp-content/uploads");
    site.write("wp-content/uploads/real.txt", "a paper");
    let link = |name: &str, target: &std::path::Path| {
        let path = uploads.join(name);
        let _ = std::fs::remove_file(&path);
        std::os::unix::fs::symlink(target, &path).expect("link");
        path
    };
    link("own.txt", &uploads.join("real.txt"));
    let foreign = link("foreign.txt", "/etc/passwd".as_ref());
    // A link that a malicious script could create. (Without root, the owner differs from root anyway.)
    let _ = std::os::unix::fs::lchown(&foreign, Some(65534), None);
    assert_eq!(page(&server, "/wp-content/uploads/own.txt").text(), "a paper");
    let answer = page(&server, "/wp-content/uploads/foreign.txt");
    assert!(answer.status >= 400 && !answer.text().contains("root:"), "{}", answer.status);
}

#[test]
fn passwords_are_not_guessed_faster_than_people_type() {
    let (_site, server) = start();
    let form = [("log", "nobody"), ("pwd", "guess"), ("wp-submit", "Log In")];
    let mut visitor = Visitor::new(server.port);
    for number in 0..20 {
        assert_eq!(visitor.post("/wp-login.php", &form).status, 200, "{number}");
    }
    // The zone admits 20 further attempts per minute: on a slow machine one or two more are admitted before the
    // rejection.
    let refused = (0..40).find(|_| visitor.post("/wp-login.php", &form).status == 429);
    assert!(refused.is_some(), "no attempt was rejected");
    assert_eq!(visitor.get("/wp-login.php").status, 200, "requests for the log-in page are not counted");
    let call =
        Request::post("/xmlrpc.php", "<methodCall><methodName>demo.sayHello</methodName></methodCall>");
    assert_ne!(server.fetch(&call).status, 429, "XML-RPC is counted separately");
    // Concurrently: on a slow machine, sequential requests would not exceed the rate.
    let answers = all_at_once(server.port, 100, &call);
    assert!(answers.iter().any(|answer| answer.status == 429), "XML-RPC is limited too");
}
