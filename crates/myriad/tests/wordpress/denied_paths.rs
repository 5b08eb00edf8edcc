//! Tests that files which `.htaccess` files deny are sent by `X-Accel-Redirect` only.

use std::fs;
use std::os::unix::fs::symlink;

use super::links::{get, serve};
use crate::support::ServerSite;
use crate::support::origin::FastcgiOrigin;

#[test]
fn files_that_htaccess_denies_are_sent_by_x_accel_redirect_only() {
    let site = ServerSite::new();
    let write = |file: &str, text: &str| {
        let folder = site.path(file).parent().expect("a folder").to_owned();
        fs::create_dir_all(folder).expect("folders");
        site.write(file, text);
    };
    let uploads = "home/attacker/html/wp-content/uploads";
    let deny = "deny from all\n";
    for (file, text) in [
        ("home/attacker/html/index.php", "<?php"),
        ("home/attacker/html/wp-config.php", "<?php"),
        ("home/attacker/html/wp-includes/a.css", "a{}"),
        ("home/attacker/html/notes.txt", "note"),
        ("home/attacker/html/.htaccess", "<Files notes.txt>\nRequire all denied\n</Files>\n"),
        (
            "home/attacker/html/wp-content/plugins/a/.htaccess",
            "Require all denied\n<FilesMatch \"\\.css$\">\nRequire all granted\n</FilesMatch>\n",
        ),
        ("home/attacker/html/wp-content/plugins/a/log.txt", "log"),
        ("home/attacker/html/wp-content/plugins/a/a.css", "css"),
        ("home/attacker/html/wp-content/plugins/b/log.txt", "log"),
    ] {
        write(file, text);
    }
    write(&format!("{uploads}/.htaccess"), "<Files *.php>\nDeny from all\n</Files>\n");
    write(&format!("{uploads}/exports/.htaccess"), "<If \"req('X') == 'y'\">\nRequire all denied\n</If>\n");
    write(&format!("{uploads}/exports/a.csv"), "export");
    symlink("orders", site.path(&format!("{uploads}/alias"))).expect("a link");
    symlink("..", site.path(&format!("{uploads}/up"))).expect("a link");
    for folder in ["woocommerce_uploads", "dlm_uploads", "edd", "orders"] {
        write(&format!("{uploads}/{folder}/2026/book.pdf"), "sold");
    }
    write(&format!("{uploads}/orders/.htaccess"), deny);
    write(&format!("{uploads}/edd/2026/cover.jpg"), "cover");
    write(&format!("{uploads}/2026/book.pdf"), "free");
    let php = FastcgiOrigin::answering(
        "X-Accel-Redirect: /wp-content/uploads/orders/2026/book.pdf\r\n\r\n".to_owned(),
    );
    let _server = serve(&site, "wordpress", &php);
    for (path, status) in [
        ("uploads/woocommerce_uploads/2026/book.pdf", 404),
        ("uploads/dlm_uploads/2026/book.pdf", 404),
        ("uploads/edd/2026/book.pdf", 404),
        ("uploads/edd/2026/cover.jpg", 200),
        ("uploads/orders/2026/book.pdf", 404),
        ("uploads/orders/2026/%62ook.pdf", 404),
        ("uploads//orders/./2026/book.pdf", 404),
        ("uploads/alias/2026/book.pdf", 404),
        ("uploads/up/uploads/up/uploads/orders/2026/book.pdf", 404),
        ("uploads/up/uploads/2026/book.pdf", 200),
        ("uploads/exports/a.csv", 404),
        ("uploads/2026/book.pdf", 200),
        ("plugins/a/log.txt", 404),
        ("plugins/a/a.css", 200),
        ("plugins/b/log.txt", 200),
        ("../notes.txt", 404),
    ] {
        assert_eq!(get(&site, &format!("/wp-content/{path}")).0, status, "{path}");
    }
    assert_eq!(get(&site, "/download"), (200, "sold".to_owned()));
}
