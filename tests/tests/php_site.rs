//! `myriad php` with an application for which it has no special rules: MediaWiki, with its database in a file.

use std::path::Path;
use std::process::Command;

use myriad_tests::{
    Answer, CLIENT_FIELDS, Php, Place, Request, Server, Visitor, all_at_once, binary, wait_for,
};

/// Folder of the Debian package.
const MEDIAWIKI: &str = "/usr/share/mediawiki";
const PASSWORD: &str = "a-password-of-a-test";

/// Appended settings: pages have short URLs, a reverse proxy may cache them, and receives purges after changes.
const SETTINGS: &str = "
$wgArticlePath = '/wiki/$1'; $wgUseCdn = true; $wgCdnServers = ['127.0.0.1:@PORT@']; $wgJobRunRate = 0; $wgMainCacheType = CACHE_NONE;
";

/// Wiki with one page, and the server in front of it.
struct Wiki {
    server: Server,
    _php: Php,
}

impl Wiki {
    fn start() -> Self {
        let mut place = Place::new();
        install(&place);
        let settings = place.path("conf/LocalSettings.php");
        let pool =
            format!("pm = static\npm.max_children = 4\nenv[MW_CONFIG_FILE] = {}\n", settings.display());
        let php = Php::start_pool(&mut place, &pool);
        let mut command = Command::new(binary());
        command
            .args(["php", "--root", MEDIAWIKI, "--php", &place.fill("@PHP@")])
            .arg("--prefix")
            .arg(place.folder());
        command.args(["--listen", &place.fill("127.0.0.1:@PORT@")]);
        Self { server: Server::run(place, command), _php: php }
    }

    fn request(&self, target: &str) -> Request {
        Request::get(target).host(&format!("127.0.0.1:{}", self.server.port))
    }

    fn page(&self, target: &str) -> Answer {
        self.server.fetch(&self.request(target))
    }

    /// Returns the administrator, logged in by the API.
    fn administrator(&self) -> Visitor {
        let mut visitor = Visitor::new(self.server.port);
        let token = token(&mut visitor, "login");
        let form = [
            ("action", "login"),
            ("format", "json"),
            ("lgname", "Admin"),
            ("lgpassword", PASSWORD),
            ("lgtoken", &token),
        ];
        let answer = visitor.post("/api.php", &form).text();
        assert!(answer.contains("\"result\":\"Success\""), "{answer}");
        visitor
    }
}

/// Installs the wiki in the folder, as the user who runs PHP.
fn install(place: &Place) {
    assert!(
        Path::new(MEDIAWIKI).join("index.php").exists(),
        "MediaWiki is missing: scripts/install-packages test"
    );
    for folder in ["db", "conf"] {
        std::fs::create_dir_all(place.path(folder)).expect("folder");
    }
    let mut command = Command::new("php");
    command.arg(format!("{MEDIAWIKI}/maintenance/install.php")).env("MW_CONFIG_FILE", "/nonexistent");
    command.args(["--dbtype", "sqlite", "--dbname", "wiki", "--scriptpath", "", "--pass", PASSWORD]);
    command.args(["--server", &place.fill("http://127.0.0.1:@PORT@")]).arg("--dbpath").arg(place.path("db"));
    command.arg("--confpath").arg(place.path("conf")).args(["A wiki", "Admin"]);
    let output = command.output().expect("php starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let settings = place.read("conf/LocalSettings.php") + &place.fill(SETTINGS);
    place.write("conf/LocalSettings.php", settings);
    // If root starts PHP, it runs as another user.
    let mut owner = Command::new("chown");
    let _ = owner.args(["-R", "www-data:"]).arg(place.path("db")).arg(place.path("conf")).output();
}

/// Returns a token of the wiki for changes.
fn token(visitor: &mut Visitor, kind: &str) -> String {
    let answer = visitor.get(&format!("/api.php?action=query&meta=tokens&type={kind}&format=json")).text();
    let token = answer.split(&format!("{kind}token\":\"")).nth(1).and_then(|rest| rest.split('"').next());
    token.unwrap_or_else(|| panic!("a token in {answer}")).replace("\\\\", "\\")
}

#[test]
fn a_wiki_is_served_from_the_cache_and_each_member_by_php() {
    let wiki = Wiki::start();
    let main = "/wiki/Main_Page";
    let first = wiki.page(main);
    assert_eq!((first.status, first.cache()), (200, "MISS"));
    assert!(first.text().contains("MediaWiki has been installed"));
    for cookie in ["", "_ga=GA1.2.3; _gid=4", "cookieconsent_status=dismiss"] {
        let answer = wiki.server.fetch(&wiki.request(main).field("Cookie", cookie));
        assert_eq!((answer.cache(), answer.body == first.body), ("HIT", true), "{cookie:?}");
    }
    assert!(
        all_at_once(wiki.server.port, 50, &wiki.request("/wiki/Special:Version"))
            .iter()
            .all(|answer| answer.status == 200)
    );
    let own = [
        wiki.request(main).field("Cookie", "wiki_session=0123"),
        wiki.request(main).field("Cookie", "_ga=1; wikiUserID=1"),
        wiki.request(main).field("Cookie", "_ga"),
        wiki.request(main).field("Authorization", "Basic YTpi"),
        wiki.request(main).field("X-Requested-With", "XMLHttpRequest"),
    ];
    for request in own {
        assert_eq!(wiki.server.fetch(&request).cache(), "BYPASS", "{request:?}");
    }
    // A form sets a session cookie, so its page is not shared.
    let log_in = "/index.php?title=Special:UserLogin";
    for _ in 0..2 {
        let answer = wiki.page(log_in);
        assert!(
            answer.field("Set-Cookie").is_some_and(|cookie| cookie.contains("session")),
            "{}",
            answer.text()
        );
        assert_eq!(answer.cache(), "MISS");
    }
    let mut member = wiki.administrator();
    let seen = member.get(main);
    assert_eq!(seen.cache(), "BYPASS");
    assert!(seen.text().contains("pt-userpage"), "a member sees their own page");
    let stranger = wiki.page(main);
    assert_eq!(stranger.cache(), "HIT");
    assert!(!stranger.text().contains("pt-userpage"), "the member's page was sent to another visitor");
}

#[test]
fn a_page_that_is_edited_shows_at_once_since_the_wiki_purges_it() {
    let wiki = Wiki::start();
    let main = "/wiki/Main_Page";
    let mut member = wiki.administrator();
    wiki.page(main);
    assert_eq!(wiki.page(main).cache(), "HIT");
    let token = token(&mut member, "csrf");
    let form = [
        ("action", "edit"),
        ("format", "json"),
        ("title", "Main Page"),
        ("text", "Other words."),
        ("token", &token),
    ];
    let answer = member.post("/api.php", &form).text();
    assert!(answer.contains("\"result\":\"Success\""), "{answer}");
    // The wiki sends PURGE after its response.
    wait_for("the edited page", || wiki.page(main).text().contains("Other words."));
    assert_eq!(wiki.page(main).cache(), "HIT");
}

#[test]
fn files_are_served_and_private_files_are_not_found() {
    let wiki = Wiki::start();
    let picture = wiki.page("/resources/assets/mediawiki.png");
    assert_eq!((picture.status, picture.field("Content-Type")), (200, Some("image/png")));
    assert_eq!(
        picture.body,
        std::fs::read(format!("{MEDIAWIKI}/resources/assets/mediawiki.png")).expect("a file")
    );
    for target in
        ["/includes/Setup.php", "/maintenance/install.php", "/composer.json", "/vendor/autoload.php"]
    {
        assert_eq!(wiki.page(target).status, 404, "{target}");
    }
    // Fields that a client invents do not affect a shared page.
    let target = "/index.php?title=Main_Page&action=history";
    let forged =
        wiki.request(target).field("X-Forwarded-Host", "forged.example").field("X-Original-URL", "/forged");
    assert!(!wiki.server.fetch(&forged).text().contains("forged"));
    assert!(!wiki.page(target).text().contains("forged"));
}

/// Script that prints all variables of its request, except variables of the connection and the time.
const DUMP: &str = "<?php header('Cache-Control: s-maxage=60'); foreach ($_SERVER as $name => $value)
    if (!in_array($name, ['REMOTE_PORT', 'REQUEST_TIME', 'REQUEST_TIME_FLOAT'])) echo \"$name=$value\\n\";";

/// Starts a site whose front controller is [`DUMP`], with other files in the folder `site`.
fn serve_dump(mut place: Place) -> (Server, Php) {
    place.write("site/index.php", DUMP);
    let php = Php::start(&mut place);
    let mut command = Command::new(binary());
    command.args(["php", "--root"]).arg(place.path("site")).args(["--php", &place.fill("@PHP@"), "--prefix"]);
    command.arg(place.folder()).args(["--listen", &place.fill("127.0.0.1:@PORT@")]);
    (Server::run(place, command), php)
}

#[test]
fn a_shared_page_of_a_php_site_is_the_same_whatever_its_first_client_sends() {
    let (server, _php) = serve_dump(Place::new());
    let get = |number: usize| Request::get(&format!("/index.php/page{number}")).host("site.example");
    let plain = server.fetch(&get(0));
    assert_eq!((plain.status, plain.cache()), (200, "MISS"));
    let all = CLIENT_FIELDS.iter().fold(get(1), |request, name| request.field(name, "forged"));
    let all =
        all.field("Content-Type", "forged/json").field("User-Agent", "forged").field("Cookie", "_ga=forged");
    let empty = get(2).field("Content-Type", "text/forged").field("Content-Length", "0");
    for (number, request) in [all, empty].into_iter().enumerate() {
        let number = number + 1;
        let answer = server.fetch(&request);
        assert_eq!((answer.status, answer.cache()), (200, "MISS"), "{number}");
        assert_eq!(answer.text().replace(&format!("page{number}"), "page0"), plain.text());
        assert_eq!(server.fetch(&get(number)).cache(), "HIT");
    }
    // A client with a personal page sends all fields.
    let own = server.fetch(&get(3).field("Content-Type", "own/type").field("Cookie", "session=1"));
    assert_eq!(own.cache(), "BYPASS");
    assert!(own.text().contains("CONTENT_TYPE=own/type\n"), "{}", own.text());
}

#[test]
fn names_of_pages_are_refused_only_where_such_a_file_exists() {
    let place = Place::new();
    let hidden = [
        ".git/config",
        "notes.sql",
        "index.php.bak",
        "includes/setup.php",
        "uploads/evil.php",
        "data/users.json",
        "composer.json",
        "README~",
    ];
    for name in hidden {
        place.write(&format!("site/{name}"), "<?php echo 'secret';");
    }
    let (server, _php) = serve_dump(place);
    for name in hidden {
        let answer = server.get(&format!("/{name}"));
        assert_eq!((answer.status, answer.text().contains("secret")), (404, false), "{name}");
        // A path after its name does not execute a script.
        let behind = server.get(&format!("/{name}/x"));
        assert!(!behind.text().contains("secret"), "{name}/x: {}", behind.text());
    }
    for target in [
        "/wiki/.htaccess",
        "/wiki/Sample.sql",
        "/wiki/C~",
        "/data/report.xml",
        "/test/api.json",
        "/wiki/acme.inc",
        "/composer.json/",
    ] {
        let answer = server.get(target);
        assert_eq!(answer.status, 200, "{target}");
        assert!(answer.text().contains(&format!("REQUEST_URI={target}\n")), "{target}: {}", answer.text());
    }
}
