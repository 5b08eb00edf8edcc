//! Tests of site layouts: Bedrock, with a link to the current release.

use std::fs;
use std::os::unix::fs::symlink;

use super::links::{get, serve_folder};
use crate::support::origin::FastcgiOrigin;
use crate::support::{ServerSite, myriad, wait_for};

/// Writes a release of a Bedrock project.
fn release(site: &ServerSite, number: u32) {
    for (file, text) in [
        ("web/index.php", "<?php require __DIR__ . '/wp/wp-blog-header.php';"),
        ("web/wp-config.php", "<?php require_once dirname(__DIR__) . '/config/application.php';"),
        ("config/application.php", "<?php Config::define(\n    'MULTISITE',\n    true\n);"),
        ("web/wp/wp-includes/a.css", "core"),
        ("web/wp/wp-includes/a.php", "<?php"),
        ("web/app/plugins/a/a.css", &format!("release {number}")),
        ("web/app/uploads/orders/.htaccess", "Require all denied\n"),
        ("web/app/uploads/orders/book.txt", "sold"),
        ("web/app/uploads/woocommerce_uploads/book.txt", "sold"),
        ("web/app/uploads/shell.php", "<?php"),
    ] {
        let file = format!("srv/releases/{number}/{file}");
        fs::create_dir_all(site.path(&file).parent().expect("a folder")).expect("folders");
        site.write(&file, text);
    }
}

/// Points the link to a release as deployment tools do: a new link replaces the old one atomically.
fn deploy(site: &ServerSite, number: u32) {
    symlink(format!("releases/{number}"), site.path("srv/next")).expect("a link");
    fs::rename(site.path("srv/next"), site.path("srv/current")).expect("the link");
}

#[test]
fn bedrock_is_served_from_the_current_release_without_a_reload() {
    let site = ServerSite::new();
    release(&site, 1);
    release(&site, 2);
    deploy(&site, 1);
    let print = ["wordpress", "--print", "--php", "127.0.0.1:9", "--root"];
    let printed = myriad().args(print).arg(site.path("srv")).output().expect("a configuration");
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    assert!(printed.contains("SCRIPT_FILENAME    $realpath_root$fastcgi_script_name;"), "{printed}");
    // WordPress writes the file into its own folder.
    assert!(printed.contains("cache_maintenance $document_root/wp/.maintenance;"), "{printed}");
    let php = FastcgiOrigin::answering("Content-Type: text/html\r\n\r\npage".to_owned());
    let _server = serve_folder(&site, "wordpress", "srv", &php);
    let errors = site.read("err");
    assert!(errors.contains("srv/current/web, WordPress in /wp, wp-content in /app"), "{errors}");
    for (path, status) in [
        ("/wp/wp-includes/a.css", 200),
        // A network in folders.
        ("/blog/wp-includes/a.css", 200),
        ("/blog/app/plugins/a/a.css", 200),
        ("/wp/wp-includes/a.php", 404),
        ("/app/uploads/shell.php", 404),
        ("/app/uploads/orders/book.txt", 404),
        ("/app/uploads/woocommerce_uploads/book.txt", 404),
    ] {
        assert_eq!(get(&site, path).0, status, "{path}");
    }
    assert_eq!(get(&site, "/app/plugins/a/a.css"), (200, "release 1".to_owned()));
    assert_eq!(get(&site, "/post/"), (200, "page".to_owned()));
    deploy(&site, 2);
    wait_for("the new release", || get(&site, "/app/plugins/a/a.css").1 == "release 2");
}
