//! Tests of the user of the workers if root starts the server.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown};
use std::os::unix::net::UnixListener;
use std::path::Path;

use super::{command, site_with_wordpress, started};
use crate::support::{self, ServerSite, send, stderr, stdout, wait_for};

/// User ID of `www-data` on Debian.
const PHP: u32 = 33;

/// Creates a site with a socket of php-fpm as on Debian, owned by `www-data` with the mode 0660; `None` if the tests do
/// not run as root.
fn site_of_php() -> Option<(ServerSite, UnixListener)> {
    let site = site_with_wordpress();
    let php = UnixListener::bind(site.path("php.sock")).expect("socket");
    if chown(site.path("php.sock"), Some(PHP), Some(PHP)).is_err() {
        eprintln!("skipped: this test requires root");
        return None;
    }
    chmod(&site.path("php.sock"), 0o660);
    Some((site, php))
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
}

/// Returns name and ID of the user that workers have by default.
fn own_user() -> (String, u32) {
    let users = fs::read_to_string("/etc/passwd").expect("users");
    let id = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        Some((name.to_owned(), line.split(':').nth(2)?.parse().ok()?))
    };
    id("myriad").or_else(|| id("nobody")).expect("nobody")
}

fn name_of_php(file: &str) -> String {
    let known = fs::read_to_string(file).expect(file);
    let line = known.lines().find(|line| line.split(':').nth(2) == Some("33"));
    line.and_then(|line| line.split(':').next()).unwrap_or("33").to_owned()
}

fn ids(pid: u32, field: &str) -> Vec<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("status");
    let line = status.lines().find(|line| line.starts_with(field)).expect(field);
    line.split_whitespace().skip(1).map(|id| id.parse().expect("id")).collect()
}

#[test]
fn worker_user_differs_from_php_user_and_can_connect_to_php() {
    let Some((site, php)) = site_of_php() else { return };
    let (_, own) = own_user();
    let mut server = started(&site, &["--php", site.path("php.sock").to_str().expect("path")]);
    let worker = support::children_of(server.id())[0];
    assert_eq!((ids(worker, "Uid:"), ids(worker, "Gid:")), (vec![own; 4], vec![PHP; 4]));
    let cache = fs::metadata(site.path("cache/wordpress")).expect("cache");
    assert_eq!((cache.uid(), cache.mode() & 0o777), (own, 0o700), "PHP cannot write to the cache");
    let port = site.port;
    let visitor = std::thread::spawn(move || support::get_path(port, "/index.php"));
    drop(php.accept().expect("a connection of the worker"));
    assert_eq!(visitor.join().expect("an answer"), Some(502));
    send("TERM", server.id());
    assert!(server.wait().expect("end").success());
}

#[test]
fn unsuitable_worker_user_is_not_chosen_and_this_is_reported() {
    let Some((site, _php)) = site_of_php() else { return };
    let socket = site.path("php.sock");
    let php = name_of_php("/etc/passwd");
    let group = name_of_php("/etc/group");
    let (own, _) = own_user();
    let printed = |arguments: &[&str]| {
        let socket = socket.to_str().expect("path");
        command(&site, &[&["--php", socket, "--print"], arguments].concat()).output().expect("print")
    };
    let user = |output: &std::process::Output| {
        let text = stdout(output);
        text.lines().find_map(|line| line.strip_prefix("user ")).expect("a user").to_owned()
    };
    let output = printed(&[]);
    assert_eq!(user(&output), format!("{own} {group};"));
    assert_eq!(stderr(&output).contains("useradd --system"), own == "nobody", "{}", stderr(&output));

    chmod(&socket, 0o666);
    assert_eq!(user(&printed(&[])), format!("{own};"), "no group is chosen if none is needed");
    chmod(&socket, 0o600);
    let output = printed(&[]);
    assert_eq!(user(&output), format!("{php};"));
    let wanted =
        format!("php.sock is not accessible to user {own}: worker processes run as {php}, the user of PHP");
    assert!(stderr(&output).contains(&wanted), "{}", stderr(&output));

    chmod(&socket, 0o666);
    chown(site.path("html/index.php"), Some(PHP), Some(0)).expect("chown");
    chmod(&site.path("html/index.php"), 0o640);
    let output = printed(&[]);
    assert_eq!(user(&output), format!("{php};"));
    assert!(stderr(&output).contains("index.php is not readable for"), "{}", stderr(&output));
    chmod(&socket, 0o660);
    chown(site.path("html/index.php"), Some(PHP), Some(PHP)).expect("chown");
    assert_eq!(user(&printed(&[])), format!("{own} {group};"), "the group may read the file");
    assert_eq!(user(&printed(&["--user", &php])), format!("{php};"));
    fs::remove_file(&socket).expect("remove");
    chown(site.path("html"), None, Some(PHP)).expect("chown");
    assert_eq!(
        user(&printed(&[])),
        format!("{own} {group};"),
        "the socket will probably have the group of the site"
    );
}

#[test]
fn site_that_fails_its_check_does_not_make_the_worker_run_as_php_of_another_site() {
    let Some((site, _php)) = site_of_php() else { return };
    chmod(&site.path("html"), 0o700);
    let lines =
        [format!("a.test {} 127.0.0.1:9", site.path("html").display()), "b.test /nowhere 127.0.0.1:9".into()];
    let user = |lines: &[String]| {
        let mut command = support::myriad();
        command.args(["wordpress", "--print", "-p"]).arg(&site.folder);
        for line in lines {
            command.args(["--site", line]);
        }
        let output = command.output().expect("print");
        stdout(&output).lines().find_map(|line| line.strip_prefix("user ")).expect("a user").to_owned()
    };
    assert_eq!(user(&lines[..1]), format!("{};", name_of_php("/etc/passwd")), "a single site");
    assert_eq!(user(&lines), format!("{};", own_user().0));
}

/// Returns the arguments of the directive `user` for a site whose PHP listens on a TCP port.
fn user_over_tcp(site: &ServerSite) -> String {
    let output = command(site, &["--php", "127.0.0.1:9", "--print"]).output().expect("print");
    let text = stdout(&output);
    let line = text.lines().find_map(|line| line.strip_prefix("user ")).expect("a user");
    line.to_owned()
}

#[test]
fn files_of_a_site_choose_neither_the_user_nor_the_group() {
    let Some((site, _php)) = site_of_php() else { return };
    let own = format!("{};", own_user().0);
    let index = site.path("html/index.php");
    let secret = site.path("secret");
    site.write("secret", "");
    // The user of PHP replaces the file by a link to a file of the `shadow` group, or of a database.
    let (shadow, database) = (id_of("/etc/group", "shadow"), id_of("/etc/passwd", "mysql"));
    for (owner, group, mode) in [(0, shadow, 0o640), (database, database, 0o600), (0, 54_321, 0o640)] {
        chown(&secret, Some(owner), Some(group)).expect("chown");
        chmod(&secret, mode);
        fs::remove_file(&index).expect("remove");
        std::os::unix::fs::symlink(&secret, &index).expect("a link");
        lchown(&index, Some(PHP), Some(PHP)).expect("chown");
        assert_eq!(user_over_tcp(&site), own, "a link to a file of {owner}:{group}");
    }
    // A file of that user does not choose the group either.
    fs::remove_file(&index).expect("remove");
    fs::write(&index, "").expect("index.php");
    chown(&index, Some(PHP), Some(54_321)).expect("chown");
    chmod(&index, 0o640);
    assert_ne!(user_over_tcp(&site), format!("{} 54321;", own_user().0));
}

#[test]
fn owner_of_the_folder_counts_where_root_alone_can_replace_it() {
    let Some((site, _php)) = site_of_php() else { return };
    let own = own_user().0;
    let folder = site.path("html");
    fs::remove_file(site.path("html/index.php")).expect("remove");
    site.write("html/index.php", "");
    chmod(&folder, 0o750);
    chown(&folder, Some(54_321), Some(54_321)).expect("chown");
    assert_eq!(
        user_over_tcp(&site),
        format!("{own} 54321;"),
        "the group of the folder was chosen by an administrator"
    );
    // A system group, regardless of its origin.
    chown(&folder, Some(0), Some(id_of("/etc/group", "shadow"))).expect("chown");
    assert!(!user_over_tcp(&site).contains("shadow"), "{}", user_over_tcp(&site));
    // The owner of the parent folder could put any folder there.
    chown(&folder, Some(54_321), Some(54_321)).expect("chown");
    chown(&site.folder, Some(54_321), None).expect("chown");
    assert_ne!(user_over_tcp(&site), format!("{own} 54321;"));
    chown(&site.folder, Some(0), None).expect("chown");
}

fn id_of(file: &str, name: &str) -> u32 {
    let known = fs::read_to_string(file).expect(file);
    let line = known.lines().find(|line| line.split(':').next() == Some(name));
    line.and_then(|line| line.split(':').nth(2)?.parse().ok()).expect(name)
}

#[test]
fn cache_owned_by_another_user_is_started_from_scratch() {
    let Some((site, _php)) = site_of_php() else { return };
    let zone = site.path("cache/wordpress");
    fs::create_dir_all(zone.join("a/bc")).expect("folders");
    site.write("cache/wordpress/a/bc/page", "of an earlier server");
    fs::create_dir_all(site.path("cache/.old-0/a")).expect("a folder that was left over");
    site.write("victim", "");
    fs::hard_link(site.path("victim"), zone.join("a/bc/hard")).expect("a link");
    for path in ["cache/wordpress", "cache/wordpress/a", "cache/wordpress/a/bc", "cache/wordpress/a/bc/page"]
    {
        chown(site.path(path), Some(PHP), Some(PHP)).expect("chown");
    }
    let mut server = started(&site, &["--php", site.path("php.sock").to_str().expect("path")]);
    let wanted =
        format!("the cache {} belonged to {} and is cleared", zone.display(), name_of_php("/etc/passwd"));
    assert!(site.read("err").contains(&wanted), "{}", site.read("err"));
    assert_eq!(fs::metadata(&zone).expect("cache").uid(), own_user().1);
    assert!(!zone.join("a/bc/page").exists());
    wait_for("what was there to go", || {
        let of_the_site = [zone.clone(), site.path("cache/wordpress.history")];
        let mut entries = fs::read_dir(site.path("cache")).expect("folder").flatten();
        entries.all(|entry| of_the_site.contains(&entry.path()))
    });
    assert_eq!(fs::metadata(site.path("victim")).expect("a file").uid(), 0);
    send("TERM", server.id());
    assert!(server.wait().expect("end").success());
    let mut again = started(&site, &["--php", site.path("php.sock").to_str().expect("path")]);
    assert!(!site.read("err").contains("and is cleared"), "{}", site.read("err"));
    send("TERM", again.id());
    assert!(again.wait().expect("end").success());
}
