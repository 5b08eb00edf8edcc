//! Tests of symbolic links in the folder of a site: a site must not serve files of another.

use std::fs;
use std::os::unix::fs::{lchown, symlink};
use std::path::Path;

use super::KilledServer;
use crate::support::origin::FastcgiOrigin;
use crate::support::{self, ServerSite, myriad, wait_for};

/// Owners of the two sites.
const ATTACKER: u32 = 54_321;
const VICTIM: u32 = 54_322;

/// Changes the owner and the group of a file, a folder or a link. Returns `false` if that fails, as without
/// root.
fn give(path: &Path, owner: u32) -> bool {
    lchown(path, Some(owner), Some(owner)).is_ok()
}

/// Creates the two sites with different owners; `None` if the tests do not run as root.
fn two_sites() -> Option<ServerSite> {
    let site = ServerSite::new();
    for (name, owner) in [("home/attacker", ATTACKER), ("home/victim", VICTIM)] {
        for folder in [
            "wp-includes",
            "wp-content/cache/supercache/a.test/page",
            "wp-content/cache/supercache/a.test/coded",
        ] {
            let folder = format!("html/{folder}");
            fs::create_dir_all(site.path(name).join(folder)).expect("folders");
        }
        for (file, text) in [
            ("html/index.php", "<?php"),
            ("html/wp-config.php", "<?php secret"),
            ("html/secret.txt", "secret"),
            ("html/secret.css.gz", "secret"),
            ("html/own.txt", "own"),
            ("html/wp-content/cache/supercache/a.test/coded/index.html", "coded"),
        ] {
            site.write(&format!("{name}/{file}"), text);
        }
        let mut pending = vec![site.path(name)];
        while let Some(path) = pending.pop() {
            if !give(&path, owner) {
                eprintln!("skipped: this test requires root");
                return None;
            }
            if path.is_dir() {
                pending.extend(
                    fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()),
                );
            }
        }
    }
    Some(site)
}

/// Starts `myriad wordpress` or `myriad php` for the site of the attacker, with this application.
pub(super) fn serve(site: &ServerSite, preset: &str, php: &FastcgiOrigin) -> KilledServer {
    serve_folder(site, preset, "home/attacker/html", php)
}

/// Starts `myriad wordpress` or `myriad php` for the site in a folder, with this application.
pub(super) fn serve_folder(
    site: &ServerSite,
    preset: &str,
    folder: &str,
    php: &FastcgiOrigin,
) -> KilledServer {
    let errors = fs::File::create(site.path("err")).expect("err");
    let mut command = myriad();
    command.args([preset, "--root"]).arg(site.path(folder));
    command.args(["--php", &format!("127.0.0.1:{}", php.port)]).arg("--prefix").arg(site.path("prefix"));
    command.args([
        "--name",
        "a.test",
        "--set",
        "dashboard=off",
        "--listen",
        &format!("127.0.0.1:{}", site.port),
    ]);
    let mut server = KilledServer(command.stderr(errors).spawn().expect("start"));
    wait_for("a server", || {
        assert!(server.try_wait().expect("wait").is_none(), "the server exited: {}", site.read("err"));
        site.read("err").contains("  stop ")
    });
    server
}

/// Sends a request to the host `a.test` that accepts gzip. Returns status and body.
pub(super) fn get(site: &ServerSite, target: &str) -> (u16, String) {
    let mut stream = support::answer::connect(("127.0.0.1", site.port));
    let request = format!(
        "GET {target} HTTP/1.1\r\nHost: a.test\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n"
    );
    std::io::Write::write_all(&mut stream, request.as_bytes()).expect("a request");
    let answer = support::answer::read(stream);
    (answer.status, answer.text())
}

#[test]
fn no_link_of_one_site_shows_a_file_of_another() {
    let Some(site) = two_sites() else { return };
    let php = FastcgiOrigin::answering("X-Accel-Redirect: /note.txt\r\n\r\n".to_owned());
    let root = site.path("home/attacker/html");
    let victim = site.path("home/victim/html");
    let page = "wp-content/cache/supercache/a.test/page";
    let link = |target: &Path, name: &str| {
        symlink(target, root.join(name)).expect("a link");
        assert!(give(&root.join(name), ATTACKER));
    };
    link(&victim.join("wp-config.php"), "note.txt");
    link(&victim.join("secret.txt"), "feed.json");
    link(&victim, "folder");
    link(&victim.join("secret.css.gz"), "style.css.gz");
    link(&victim.join("secret.txt"), &format!("{page}/index.html"));
    link(&victim.join("secret.css.gz"), "wp-content/cache/supercache/a.test/coded/index.html.gz");
    link(Path::new("own.txt"), "also.txt");
    link(&root.join("wp-content"), "inside");
    for preset in ["wordpress", "php"] {
        let mut server = serve(&site, preset, &php);
        assert_eq!(get(&site, "/own.txt"), (200, "own".to_owned()));
        assert_eq!(get(&site, "/also.txt"), (200, "own".to_owned()), "a link to a file of the same owner");
        for target in [
            "/note.txt",
            "/feed.json",
            "/folder/secret.txt",
            "/folder/",
            "/inside/../note.txt",
            "/style.css",
            "/page/",
            "/coded/",
            "/made",
        ] {
            let (status, text) = get(&site, target);
            assert!(!text.contains("secret"), "{preset} {target}: {status} {text}");
        }
        // The owner of the parent folder replaces the site with a link.
        let away = site.path("home/attacker/away");
        fs::rename(&root, &away).expect("renamed");
        symlink(&victim, &root).expect("a link");
        assert!(give(&root, ATTACKER));
        assert!(!get(&site, "/secret.txt").1.contains("secret"), "{preset}");
        // A reload does not follow the link either.
        let mut reload = myriad();
        let output = reload.args(["wordpress", "reload", "-p"]).arg(site.path("prefix")).output();
        let told = support::stderr(&output.expect("a reload"));
        let link = format!(
            "{} is a symbolic link owned by {ATTACKER} to a target owned by {VICTIM}, and is not followed",
            root.display()
        );
        assert!(told.contains(&link), "{preset}: {told}");
        assert!(!get(&site, "/secret.txt").1.contains("secret"), "{preset}, after a reload");
        fs::remove_file(&root).expect("removed");
        // A link to a folder of the same owner, as used for releases, is followed.
        symlink("away", &root).expect("a link");
        assert!(give(&root, ATTACKER));
        fs::write(away.join("new.txt"), "new").expect("a file");
        assert_eq!(
            get(&site, "/new.txt"),
            (200, "new".to_owned()),
            "{preset}: a link to a folder of the same owner"
        );
        fs::remove_file(&root).expect("removed");
        fs::rename(&away, &root).expect("renamed");
        support::send("TERM", server.id());
        assert!(server.wait().expect("end").success());
    }
}

#[test]
fn links_of_root_that_are_not_followed_are_warned_of_with_a_remedy() {
    let Some(site) = two_sites() else { return };
    let root = site.path("home/attacker/html");
    symlink(site.path("home/victim/html"), root.join("wp-content/uploads")).expect("a link");
    symlink("own.txt", root.join("also.txt")).expect("a link");
    assert!(give(&root.join("also.txt"), ATTACKER));
    symlink(site.path("home/victim/html"), root.join("theirs")).expect("a link");
    assert!(give(&root.join("theirs"), ATTACKER));
    let mut command = myriad();
    command.args(["wordpress", "--print", "--php", "127.0.0.1:9", "--root"]).arg(&root);
    let output = command.arg("--prefix").arg(site.path("prefix")).output().expect("a run");
    let errors = support::stderr(&output);
    let line = |name: &str| {
        errors.lines().find(|line| line.contains(&format!("/{name} is a symbolic link"))).map(str::to_owned)
    };
    let remedy = format!("chown -h {VICTIM} {}", root.join("wp-content/uploads").display());
    assert!(line("uploads").is_some_and(|line| line.contains(&remedy)), "{errors}");
    assert!(line("theirs").is_some_and(|line| !line.contains("chown")), "{errors}");
    assert!(line("also.txt").is_none(), "{errors}");
}
