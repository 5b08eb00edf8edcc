//! `myriad wordpress` as far as it goes without PHP.

mod support;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Stdio};

use support::origin::Origin;
use support::{Site, is_alive, myriad, send, stderr, stdout, upgraded, wait_for};

fn site_with_wordpress() -> Site {
    let site = Site::new();
    fs::create_dir_all(site.path("html/wp-includes")).expect("folders");
    site.write("html/index.php", "<?php\n");
    site
}

/// An address that nobody else listens at, as a test of a configuration needs one.
fn free_address(site: &Site) -> String {
    format!("127.0.0.1:{}", site.port)
}

fn command(site: &Site, arguments: &[&str]) -> std::process::Command {
    let mut command = myriad();
    command
        .args(["wordpress", "--root"])
        .arg(site.path("html"))
        .arg("--prefix")
        .arg(&site.folder)
        .args(arguments);
    command
}

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
fn a_folder_that_is_not_wordpress_is_refused_with_a_remedy() {
    let site = site_with_wordpress();
    fs::remove_file(site.path("html/index.php")).expect("remove");
    let output = command(&site, &["--php", "/nowhere.sock", "-t"]).output().expect("run");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("holds no index.php"), "{}", stderr(&output));
}

#[test]
fn a_value_that_is_none_is_refused_by_its_option() {
    let site = site_with_wordpress();
    for (arguments, said) in [
        (&["--domain", "-t"][..], "option \"--domain\" requires a value, and \"-t\" is another option"),
        (&["--domain", "*.a.test"], "--domain \"*.a.test\" is a wildcard"),
        (&["--domain", "a.test", "--email", "me"], "--email \"me\" is no address"),
        (&["--domain", "a.test", "--acme-directory", "http://a.test/"], "is no https URL"),
        (&["--domain", "a.test", "--acme-ca", "/nowhere.pem"], "--acme-ca /nowhere.pem: No such file"),
        (&["--self-signed", "--https-listen", "127.0.0.1:99999"], ": invalid port; give a port"),
        (&["--listen", "0"], "--listen \"0\": invalid port; give a port"),
        (&["--name", "http://a.test"], "--name \"http://a.test\" is no host name"),
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
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("[warn]") && said.contains("502"), "{said}");
    assert_eq!(said.matches("php.sock").count(), 1, "once: {said}");
}

#[test]
fn what_print_shows_is_the_text_that_runs() {
    let site = site_with_wordpress();
    let php = site.path("php.sock");
    let _php = UnixListener::bind(&php).expect("socket");
    let options = ["--php", php.to_str().expect("path"), "--listen", "127.0.0.1:8099", "--name", "a.example"];
    let printed = stdout(&command(&site, &options).arg("--print").output().expect("print"));
    let dumped = stdout(&command(&site, &options).arg("-T").output().expect("dump"));
    let file = site.path("wordpress.conf");
    assert!(
        dumped.starts_with(&format!("# configuration file {}:\n{printed}", file.display())),
        "{printed}\nis not the beginning of\n{dumped}"
    );
    assert!(printed.starts_with("daemon off;\nerror_log stderr warn;\npid "), "{printed}");
    // Nothing comes from elsewhere: no `-g` beside the text.
    assert!(!dumped.contains("# configuration file -g"), "{dumped}");
}

#[test]
fn print_without_a_site_shows_the_preset_with_its_placeholders() {
    let output = myriad().args(["wordpress", "--print"]).output().expect("print");
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output), include_str!("../../../presets/wordpress.conf"));
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
    assert!(!prefix.exists(), "printing makes no folder");
    site.write("site.conf", &stdout(&printed));

    let mut server = myriad();
    let errors = fs::File::create(site.path("stderr")).expect("stderr");
    server.arg("-c").arg(site.path("site.conf")).current_dir("/").stdout(Stdio::null()).stderr(errors);
    let mut child = server.spawn().expect("start");
    let pid = prefix.join("myriad.pid");
    wait_for("the pid file", || {
        let ended = child.try_wait().expect("wait");
        assert!(ended.is_none(), "it ended: {}", site.read("stderr"));
        pid.exists()
    });
    assert_eq!(fs::read_to_string(&pid).expect("pid").trim(), child.id().to_string(), "in the foreground");
    assert!(prefix.join("cache/wordpress").is_dir());
    assert_eq!(support::get_path(site.port, "/.git/config"), Some(404));
    send("TERM", child.id());
    assert!(child.wait().expect("end").success(), "{}", site.read("stderr"));
    assert!(!pid.exists());
}

/// A server that ends with its test, however that ends.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl std::ops::Deref for Server {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl std::ops::DerefMut for Server {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

/// What a start says that is refused; its status is 1.
fn refused(site: &Site, command: &mut std::process::Command) -> String {
    let errors = fs::File::create(site.path("refused")).expect("a file");
    let mut child = Server(command.stderr(errors).spawn().expect("start"));
    let mut status = None;
    wait_for("a start to be refused", || {
        status = child.try_wait().expect("wait");
        status.is_some()
    });
    assert_eq!(status.and_then(|status| status.code()), Some(1));
    site.read("refused")
}

/// A server on the site's folder as its prefix, once it has its pid file; its output goes to `out` and `err`.
fn started(site: &Site, arguments: &[&str]) -> Server {
    let output = |name: &str| fs::File::create(site.path(name)).expect(name);
    let mut server = command(site, arguments);
    server.args(["--listen", &format!("127.0.0.1:{}", site.port)]);
    let mut child = Server(server.stdout(output("out")).stderr(output("err")).spawn().expect("start"));
    wait_for("a server", || {
        assert!(child.try_wait().expect("wait").is_none(), "it ended: {}", site.read("err"));
        site.read("myriad.pid") == format!("{}\n", child.id()) && site.read("err").contains("  stop ")
    });
    child
}

fn asked(site: &Site, word: &str) -> std::process::Output {
    myriad().args(["wordpress", word, "--prefix"]).arg(&site.folder).output().expect(word)
}

#[test]
fn server_says_what_it_is_and_is_asked_reloaded_and_stopped_by_its_folder() {
    let site = site_with_wordpress();
    let none = asked(&site, "status");
    assert_eq!(none.status.code(), Some(3));
    assert!(stderr(&none).contains("no server runs on"), "{}", stderr(&none));

    let mut child = started(&site, &["--php", "127.0.0.1:9"]);
    let said = site.read("err");
    let facts = [
        format!("running as process {}\n", child.id()),
        format!("  listens  http://127.0.0.1:{}\n", site.port),
        format!("  cache    {}/cache/wordpress\n", site.folder.display()),
        format!("Ctrl-C, or: myriad wordpress stop --prefix {}\n", site.folder.display()),
    ];
    for fact in &facts {
        assert!(said.contains(fact), "{fact}: {said}");
    }
    assert!(said.contains("  user     "), "{said}");
    assert_eq!(site.read("out"), "");

    assert_eq!(support::get_path(site.port, "/index.php"), Some(502));
    let status = asked(&site, "status");
    assert!(status.status.success(), "{}", stderr(&status));
    let told = stdout(&status);
    assert!(told.starts_with(&format!("runs     process {}, for ", child.id())), "{told}");
    assert!(told.contains(&facts[1][2..]) && told.contains(&facts[2][2..]), "{told}");
    assert!(told.contains("hits     0 of 1 pages from the cache (0.0 %), 0 past it"), "{told}");

    let worker = support::children_of(child.id());
    assert!(asked(&site, "reload").status.success());
    assert!(asked(&site, "status").status.success());
    assert_eq!(support::children_of(child.id()), worker);

    let stopped = asked(&site, "stop");
    assert!(stopped.status.success(), "{}", stderr(&stopped));
    assert!(!is_alive(child.id()), "it returns when the server has ended");
    assert!(child.wait().expect("end").success());
    assert!(!site.path("myriad.pid").exists());
    for word in ["stop", "reload", "status"] {
        assert_eq!(asked(&site, word).status.code(), Some(3), "{word}");
    }
    let wrong = myriad().args(["wordpress", "stop", "now"]).output().expect("stop");
    assert!(stderr(&wrong).contains("\"now\" is too much"), "{}", stderr(&wrong));
}

#[test]
fn second_start_on_a_folder_is_refused_and_harms_the_first_in_nothing() {
    let site = site_with_wordpress();
    let mut first = started(&site, &["--php", "127.0.0.1:9"]);
    let port = format!("127.0.0.1:{}", support::free_port());
    let said = refused(&site, &mut command(&site, &["--php", "127.0.0.1:9", "--listen", &port]));
    assert!(said.contains(&format!("is in use by process {}: stop that by", first.id())), "{said}");
    assert_eq!(site.read("myriad.pid"), format!("{}\n", first.id()));
    assert!(asked(&site, "status").status.success(), "the control socket is the first one's");
    let tested = command(&site, &["--php", "127.0.0.1:9", "--listen", &port, "-t"]).output().expect("test");
    assert!(tested.status.success(), "a test takes nothing: {}", stderr(&tested));

    // What a crash leaves is no obstacle.
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
    let told = |pid: u32| stdout(&asked(&site, "status")).starts_with(&format!("runs     process {pid},"));
    let another_is_refused = || {
        let said = refused(&site, &mut command(&site, &["--php", "127.0.0.1:9"]));
        assert!(said.contains("is in use by process"), "{said}");
    };
    let upgrade = |old: u32| {
        let new = upgraded(&site, "myriad.pid", old);
        wait_for("the new one to be told", || told(new));
        new
    };
    let new = upgrade(old.id());
    another_is_refused();
    send("QUIT", new);
    wait_for("the old one to be told again", || told(old.id()));
    another_is_refused();
    let new = upgrade(old.id());
    send("QUIT", old.id());
    assert!(old.wait().expect("end").success());
    assert!(told(new), "the lock is the new one's now");
    another_is_refused();
    assert!(asked(&site, "stop").status.success());
    assert_eq!(asked(&site, "status").status.code(), Some(3));
}

/// `www-data` of Debian; the tests that name it need root, and no such user.
const PHP: u32 = 33;

/// A site with php-fpm's socket as Debian has it, `www-data`'s with the mode 0660; none where the tests' user is not root.
fn site_of_php() -> Option<(Site, UnixListener)> {
    let site = site_with_wordpress();
    let php = UnixListener::bind(site.path("php.sock")).expect("socket");
    if chown(site.path("php.sock"), Some(PHP), Some(PHP)).is_err() {
        eprintln!("skipped: only root becomes another user");
        return None;
    }
    chmod(&site.path("php.sock"), 0o660);
    Some((site, php))
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
}

/// Name and number of who serves where nothing stands against it.
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
fn worker_is_another_user_than_php_who_may_connect_to_it() {
    let Some((site, php)) = site_of_php() else { return };
    let (_, own) = own_user();
    let mut server = started(&site, &["--php", site.path("php.sock").to_str().expect("path")]);
    let worker = support::children_of(server.id())[0];
    assert_eq!((ids(worker, "Uid:"), ids(worker, "Gid:")), (vec![own; 4], vec![PHP; 4]));
    let cache = fs::metadata(site.path("cache/wordpress")).expect("cache");
    assert_eq!((cache.uid(), cache.mode() & 0o777), (own, 0o700), "PHP cannot write it");
    let port = site.port;
    let visitor = std::thread::spawn(move || support::get_path(port, "/index.php"));
    drop(php.accept().expect("a connection of the worker"));
    assert_eq!(visitor.join().expect("an answer"), Some(502));
    send("TERM", server.id());
    assert!(server.wait().expect("end").success());
}

#[test]
fn user_that_cannot_do_its_work_is_not_taken_and_that_is_said() {
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
    assert_eq!(user(&printed(&[])), format!("{own};"), "a group is taken where it is needed alone");
    chmod(&socket, 0o600);
    let output = printed(&[]);
    assert_eq!(user(&output), format!("{php};"));
    let said = format!("php.sock is not open to {own}: serving as {php}, as PHP does");
    assert!(stderr(&output).contains(&said), "{}", stderr(&output));

    chmod(&socket, 0o666);
    chown(site.path("html/index.php"), Some(PHP), Some(0)).expect("chown");
    chmod(&site.path("html/index.php"), 0o640);
    let output = printed(&[]);
    assert_eq!(user(&output), format!("{php};"));
    assert!(stderr(&output).contains("index.php is not readable for"), "{}", stderr(&output));
    chmod(&socket, 0o660);
    chown(site.path("html/index.php"), Some(PHP), Some(PHP)).expect("chown");
    assert_eq!(user(&printed(&[])), format!("{own} {group};"), "the group may read it");
    assert_eq!(user(&printed(&["--user", &php])), format!("{php};"));
    fs::remove_file(&socket).expect("remove");
    assert_eq!(user(&printed(&[])), format!("{own} {group};"), "the site's group is the likely one");
}

#[test]
fn cache_of_another_user_begins_anew() {
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
    let said = format!("the cache {} was {}'s: it begins anew", zone.display(), name_of_php("/etc/passwd"));
    assert!(site.read("err").contains(&said), "{}", site.read("err"));
    assert_eq!(fs::metadata(&zone).expect("cache").uid(), own_user().1);
    assert!(!zone.join("a/bc/page").exists());
    wait_for("what was there to go", || {
        fs::read_dir(site.path("cache")).expect("folder").flatten().all(|entry| entry.path() == zone)
    });
    assert_eq!(fs::metadata(site.path("victim")).expect("a file").uid(), 0);
    send("TERM", server.id());
    assert!(server.wait().expect("end").success());
    let mut again = started(&site, &["--php", site.path("php.sock").to_str().expect("path")]);
    assert!(!site.read("err").contains("begins anew"), "{}", site.read("err"));
    send("TERM", again.id());
    assert!(again.wait().expect("end").success());
}

/// A folder of WordPress below the site's.
fn root(site: &Site, name: &str) -> String {
    fs::create_dir_all(site.path(name).join("wp-includes")).expect("folders");
    site.write(&format!("{name}/index.php"), "<?php\n");
    site.path(name).display().to_string()
}

fn php(text: &str) -> Origin {
    Origin::answering(format!("Content-Type: text/plain\r\nCache-Control: max-age=60\r\n\r\n{text}"))
}

/// What a visitor of this host sees of a page.
fn seen(site: &Site, host: &str) -> (u16, String, Option<String>) {
    let host = format!("Host: {host}");
    let mut stream = support::answer::connect(("127.0.0.1", site.port));
    let request = format!("GET /page/ HTTP/1.1\r\n{host}\r\nConnection: close\r\n\r\n");
    std::io::Write::write_all(&mut stream, request.as_bytes()).expect("a request");
    let answer = support::answer::read(stream);
    (answer.status, answer.text(), answer.field("X-Cache").map(str::to_owned))
}

fn several(site: &Site, arguments: &[&str]) -> std::process::Command {
    let mut command = myriad();
    command.arg("wordpress").arg("--prefix").arg(&site.folder).args(arguments);
    command
}

#[test]
fn several_sites_have_names_folders_php_and_caches_of_their_own() {
    let site = Site::new();
    let (a, b, c) = (php("of a"), php("of b"), php("of c"));
    let line = |name: &str, folder: &str, php: &Origin| {
        format!("{name} {} 127.0.0.1:{}\n", root(&site, folder), php.port)
    };
    let two = format!("# the sites\n{}\n{}", line("a.test,www.a.test", "a", &a), line("*.b.test", "b", &b));
    site.write("sites", &two);
    let file = site.path("sites").display().to_string();
    let listen = format!("127.0.0.1:{}", site.port);
    let errors = fs::File::create(site.path("err")).expect("err");
    let mut server = several(&site, &["--sites", &file, "--listen", &listen]);
    let mut child = Server(server.stderr(errors).spawn().expect("start"));
    wait_for("a server", || site.read("err").contains("  stop "));

    for (host, text) in [("a.test", "of a"), ("x.b.test", "of b")] {
        for status in ["MISS", "HIT"] {
            assert_eq!(seen(&site, host), (200, text.to_owned(), Some(status.to_owned())), "{host}");
        }
    }
    assert_eq!(seen(&site, "www.a.test").1, "of a");
    assert_eq!((seen(&site, "c.test").0, seen(&site, "127.0.0.1").0), (421, 421), "nobody's");
    let listed = |zone: &str| {
        let mut command = myriad();
        command.args(["cache", "ls", "--zone", zone, "-p"]).arg(&site.folder);
        stdout(&command.output().expect("a list")).lines().skip(1).count()
    };
    assert_eq!((listed("a.test"), listed("_.b.test")), (2, 1));
    assert!(site.path("cache/a.test").is_dir() && site.path("cache/_.b.test").is_dir());

    site.write("sites", &format!("{two}c.test\n"));
    assert!(asked(&site, "reload").status.success());
    wait_for("the wrong line to be told", || site.read("err").contains("sites:5: something is missing"));
    assert_eq!((seen(&site, "a.test").1, seen(&site, "c.test").0), ("of a".to_owned(), 421));
    site.write("sites", &format!("{two}{}", line("c.test", "c", &c)));
    assert!(asked(&site, "reload").status.success());
    wait_for("the third site", || seen(&site, "c.test").1 == "of c");
    assert_eq!(seen(&site, "a.test").2.as_deref(), Some("HIT"), "the others keep their pages");
    assert!(asked(&site, "stop").status.success());
    assert!(child.wait().expect("end").success());
}

#[test]
fn lines_of_several_sites_are_printed_as_servers_and_refused_by_their_place() {
    let site = Site::new();
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
    assert_eq!((count("\n    server {"), count(" default_server;") > 2, count("return 421;")), (3, true, 1));
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

    site.write("sites", &format!("{one}\n\n{other}\nc.test /nowhere 127.0.0.1:9003\n"));
    let file = site.path("sites").display().to_string();
    for (arguments, said) in [
        (&["--sites", &file][..], format!("wordpress: {file}:4: folder /nowhere: No such file")),
        (&["--sites", "/nowhere/sites"], "--sites /nowhere/sites: No such file".to_owned()),
        (&["--site", "a.test /a"], "wordpress: --site 1: something is missing".to_owned()),
        (&["--site", &one, "--site", &one], "--site 2: \"a.test\" is the name of --site 1, too".to_owned()),
        (&["--site", &one, "--root", &a], "--root is for one site".to_owned()),
        (
            &["--site", &other, "--email", "me@a.test"],
            "--email goes with --domain, or `https` in a line".to_owned(),
        ),
    ] {
        let output = several(&site, arguments).arg("-t").output().expect("run");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(stderr(&output).contains(&said), "{arguments:?}: {}", stderr(&output));
    }
}
