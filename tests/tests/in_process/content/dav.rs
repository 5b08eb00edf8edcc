//! Tests of WebDAV.

use std::os::unix::fs::{PermissionsExt, symlink};

use myriad_exchange::exchange::BufferedBody;
use myriad_http::HttpVersion;
use myriad_serve::testing::{
    PhaseResult, TestFolder, TestSite, run_exchange, run_exchange_meanwhile, send_request,
};

const ALL: &str = "dav_methods PUT DELETE MKCOL COPY MOVE;";

/// Returns a site with all methods, whose root is the directory `html` in `folder`.
fn site(folder: &TestFolder, rules: &str) -> TestSite {
    std::fs::create_dir_all(folder.0.join("html")).expect("a root");
    TestSite::in_folder(&folder.0, "root html; absolute_redirect off;", &format!("{ALL} {rules}"))
}

fn put(site: &TestSite, uri: &str, body: &'static str, fields: &[(&str, &str)]) -> PhaseResult {
    let mut exchange = site.received_request(HttpVersion::Http11, ("PUT", uri), fields);
    exchange.request.upload.buffered = Some(BufferedBody::Memory(body.into()));
    run_exchange(exchange)
}

fn status(site: &TestSite, line: &str, fields: &[(&str, &str)]) -> u16 {
    send_request(site, line, fields).status
}

fn copy(site: &TestSite, line: &str, destination: &str) -> u16 {
    status(site, line, &[("Destination", destination)])
}

#[test]
fn file_is_written_replaced_and_deleted_and_each_time_seen_at_once() {
    let folder = TestFolder::new("dav-put");
    let site = site(&folder, "open_file_cache max=10; open_file_cache_errors on;");
    assert_eq!(status(&site, "GET /a%20b.txt", &[]), 404);
    let made = put(&site, "/a%20b.txt", "one", &[("Date", "Sun, 06 Nov 1994 08:49:37 GMT")]);
    assert_eq!((made.status, made.location()), (201, Some("/a%20b.txt")));
    assert_eq!(send_request(&site, "GET /a%20b.txt", &[]).text, "one");
    let file = folder.0.join("html/a b.txt");
    let found = std::fs::metadata(&file).expect("the file");
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    let modified = found.modified().expect("a time").duration_since(std::time::UNIX_EPOCH).expect("a time");
    assert_eq!(modified.as_secs(), 784_111_777);
    assert_eq!(put(&site, "/a%20b.txt", "two", &[]).status, 204);
    assert_eq!(send_request(&site, "GET /a%20b.txt", &[]).text, "two");
    assert_eq!(status(&site, "DELETE /a%20b.txt", &[]), 204);
    assert_eq!(status(&site, "GET /a%20b.txt", &[]), 404);
    assert_eq!(
        std::fs::read_dir(folder.0.join("html")).expect("the root").count(),
        0,
        "no temporary file is left"
    );
}

#[test]
fn what_cannot_be_written_is_refused() {
    let folder = TestFolder::new("dav-put-refused");
    let site = site(&folder, "location /full/ { create_full_put_path on; dav_access group:r all:r; }");
    std::fs::create_dir_all(folder.0.join("html/there")).expect("a folder");
    assert_eq!(put(&site, "/new/", "x", &[]).status, 409);
    assert_eq!(put(&site, "/there", "x", &[]).status, 409);
    assert_eq!(put(&site, "/none/a", "x", &[]).status, 409);
    assert_eq!(put(&site, "/a", "x", &[("Content-Range", "bytes 0-0/2")]).status, 501);
    assert_eq!(put(&site, "/full/a/b/c", "x", &[]).status, 201);
    let mode = |path: &str| std::fs::metadata(folder.0.join(path)).expect("it").permissions().mode() & 0o777;
    assert_eq!((mode("html/full/a/b/c"), mode("html/full/a")), (0o644, 0o755));
    let deep = format!("/full/{}c", "d/".repeat(40));
    assert_eq!(put(&site, &deep, "x", &[]).status, 409, "more missing folders than the limit");
    assert_eq!(status(&site, "PROPFIND /there/", &[]), 405);
}

#[test]
fn only_methods_that_are_named_are_taken() {
    let folder = TestFolder::new("dav-methods");
    let rules = "location /put/ { dav_methods put; dav_methods MKCOL; } location /off/ { dav_methods off; }";
    let site = site(&folder, rules);
    assert_eq!(status(&site, "MKCOL /put/", &[]), 201);
    assert_eq!(put(&site, "/put/a", "x", &[]).status, 201);
    assert_eq!(status(&site, "DELETE /put/a", &[]), 405);
    assert_eq!(put(&site, "/off/a", "x", &[]).status, 405);
}

#[test]
fn folder_is_deleted_whole_and_by_its_own_name_alone() {
    let folder = TestFolder::new("dav-delete");
    let site = site(&folder, "location /min/ { min_delete_depth 3; }");
    folder.write("outside.txt", "kept");
    std::fs::create_dir_all(folder.0.join("html/a/b")).expect("folders");
    folder.write("html/a/b/c", "x");
    symlink(&folder.0, folder.0.join("html/a/link")).expect("a link");
    assert_eq!(status(&site, "DELETE /a", &[]), 409);
    assert_eq!(status(&site, "DELETE /a/b/c/", &[]), 409);
    for depth in ["0", "1", "2", "x"] {
        assert_eq!(status(&site, "DELETE /a/", &[("Depth", depth)]), 400, "{depth}");
    }
    assert_eq!(status(&site, "DELETE /a/", &[("Depth", "infinity")]), 204);
    assert!(!folder.0.join("html/a").exists() && folder.0.join("outside.txt").exists());
    assert_eq!(status(&site, "DELETE /a/", &[]), 404);
    assert_eq!(status(&site, "DELETE /", &[]), 403, "the root cannot be deleted");
    std::fs::create_dir_all(folder.0.join("html/min/a")).expect("folders");
    folder.write("html/min/a/b", "x");
    assert_eq!(status(&site, "DELETE /min/a/", &[]), 409);
    assert_eq!(status(&site, "DELETE /min/a/b", &[("Depth", "1")]), 400);
    assert_eq!(status(&site, "DELETE /min/a/b", &[("Depth", "0")]), 204);
}

#[test]
fn file_and_folder_are_copied_and_moved() {
    let folder = TestFolder::new("dav-copy");
    let site = site(&folder, "");
    std::fs::create_dir_all(folder.0.join("html/a/b")).expect("folders");
    folder.write("html/a/b/c", "deep");
    folder.write("html/f", "file");
    symlink("f", folder.0.join("html/a/link")).expect("a link");
    let text = |path: &str| std::fs::read_to_string(folder.0.join("html").join(path)).ok();
    assert_eq!(copy(&site, "COPY /f", "/g%20h"), 204);
    assert_eq!(text("g h").as_deref(), Some("file"));
    let by_url = [("Host", "localhost"), ("Destination", "http://localhost/copy/")];
    assert_eq!(status(&site, "COPY /a/", &by_url), 201);
    assert_eq!(text("copy/b/c").as_deref(), Some("deep"));
    assert!(!folder.0.join("html/copy/link").exists(), "links are not copied");
    let shallow = [("Destination", "/shallow/"), ("Depth", "0")];
    assert_eq!(status(&site, "COPY /a/", &shallow), 201);
    assert_eq!(std::fs::read_dir(folder.0.join("html/shallow")).expect("it").count(), 0);
    assert_eq!(copy(&site, "MOVE /a/", "/shallow/"), 201);
    assert_eq!((text("shallow/b/c").as_deref(), text("a/b/c")), (Some("deep"), None));
    assert_eq!(copy(&site, "MOVE /f", "/made/on/the/way"), 204);
    assert_eq!((text("made/on/the/way").as_deref(), text("f")), (Some("file"), None));
    let no_overwrite = [("Destination", "/g%20h"), ("Overwrite", "F")];
    assert_eq!(status(&site, "COPY /made/on/the/way", &no_overwrite), 412);
    assert_eq!(status(&site, "COPY /g%20h", &[("Destination", "/x"), ("Overwrite", "yes")]), 400);
    assert_eq!(copy(&site, "COPY /g%20h", "/none/x"), 409);
    assert_eq!(copy(&site, "COPY /none", "/x"), 404);
    assert_eq!(copy(&site, "COPY /shallow", "/x"), 400);
    assert_eq!(copy(&site, "COPY /g%20h", "/shallow"), 409);
    assert_eq!(status(&site, "MOVE /shallow/", &[("Destination", "/x/"), ("Depth", "0")]), 400);
}

#[test]
fn destination_stays_below_the_root_and_out_of_its_source() {
    let folder = TestFolder::new("dav-destination");
    let site = site(&folder, "location /i/ { alias html/in/; }");
    std::fs::create_dir_all(folder.0.join("html/in/d")).expect("folders");
    folder.write("html/f", "file");
    folder.write("html/in/f", "file");
    for bad in [
        "",
        "f",
        "*",
        "/../x",
        "/a/../../x",
        "/%2e%2e/x",
        "/..%2fx",
        "/a%2f..%2f..%2fx",
        "/a/../x",
        "/x%00",
        "/%zz",
        "ftp://test/x",
        "https://localhost/x",
        "http://other/x",
        "http://localhostother/x",
        "http://localhost",
        "http://u@localhost/x",
        "//x/../../y",
    ] {
        assert_eq!(copy(&site, "COPY /f", bad), 400, "{bad}");
    }
    assert_eq!(status(&site, "COPY /f", &[]), 400);
    assert_eq!(copy(&site, "COPY /f", "/x/"), 409);
    assert_eq!(copy(&site, "COPY /f", "/f"), 403);
    assert_eq!(copy(&site, "COPY /f", "//f"), 403);
    assert_eq!(copy(&site, "COPY /in/", "/in/d/e/"), 403);
    assert_eq!(copy(&site, "MOVE /in/d/", "/in/"), 403);
    assert_eq!(copy(&site, "MOVE /in/", "/"), 403);
    assert_eq!(
        copy(&site, "COPY /i/f", "/f"),
        400,
        "with `alias`, the destination must be in the same location"
    );
    assert_eq!(copy(&site, "COPY /i/f", "/i/g"), 204);
    assert!(folder.0.join("html/in/g").exists());
    let names: Vec<_> =
        std::fs::read_dir(&folder.0).expect("it").map(|entry| entry.expect("it").file_name()).collect();
    assert_eq!(names, ["html"]);
}

#[test]
fn symlinks_in_dav_paths_obey_disable_symlinks() {
    let folder = TestFolder::new("dav-links");
    std::fs::create_dir_all(folder.0.join("out")).expect("a folder");
    let site =
        site(&folder, "disable_symlinks on from=$document_root; location /free/ { disable_symlinks off; }");
    for name in ["link", "free"] {
        symlink(folder.0.join("out"), folder.0.join("html").join(name)).expect("a link");
    }
    folder.write("html/f", "file");
    folder.write("out/secret", "secret");
    symlink(folder.0.join("out/secret"), folder.0.join("html/alias")).expect("a link");
    assert_eq!(put(&site, "/link/a", "x", &[]).status, 409);
    assert_eq!(status(&site, "DELETE /link/secret", &[]), 404);
    assert_eq!(status(&site, "MKCOL /link/a/", &[]), 409);
    assert_eq!(copy(&site, "COPY /f", "/link/a"), 409);
    assert_eq!(copy(&site, "MOVE /f", "/link/a"), 409);
    assert_eq!(copy(&site, "COPY /alias", "/shown"), 403);
    assert_eq!(std::fs::read_dir(folder.0.join("out")).expect("it").count(), 1);
    assert_eq!(put(&site, "/alias", "new", &[]).status, 204, "the link is replaced, not its target");
    assert_eq!(std::fs::read(folder.0.join("out/secret")).expect("it"), b"secret");
    assert_eq!(put(&site, "/free/a", "x", &[]).status, 201);
    assert!(folder.0.join("out/a").exists());
}

#[test]
fn folder_is_made_where_there_is_none() {
    let folder = TestFolder::new("dav-mkcol");
    let site = site(&folder, "");
    let made = send_request(&site, "MKCOL /a/", &[]);
    assert_eq!((made.status, made.location()), (201, Some("/a/")));
    assert_eq!(status(&site, "MKCOL /a/", &[]), 405);
    assert_eq!(status(&site, "MKCOL /b", &[]), 409);
    assert_eq!(status(&site, "MKCOL /none/b/", &[]), 409);
    let mut exchange = site.received_request(HttpVersion::Http11, ("MKCOL", "/c/"), &[]);
    exchange.request.upload.buffered = Some(BufferedBody::Memory("x".into()));
    assert_eq!(run_exchange(exchange).status, 415);
    assert!(!folder.0.join("html/c").exists());
}

const EXT: &str = "dav_ext_methods PROPFIND OPTIONS LOCK UNLOCK; dav_ext_lock zone=";

/// Returns a site with its own lock zone, because zones are shared by all sites of the process.
fn locking(folder: &TestFolder, zone: &str) -> TestSite {
    std::fs::create_dir_all(folder.0.join("html/dir")).expect("a root");
    let http = format!("root html; dav_ext_lock_zone zone={zone}:1m timeout=5m;");
    TestSite::in_folder(&folder.0, &http, &format!("{ALL} {EXT}{zone};"))
}

fn sent(
    site: &TestSite,
    method: &'static str,
    uri: &str,
    body: &'static str,
    fields: &[(&str, &str)],
) -> PhaseResult {
    let mut exchange = site.received_request(HttpVersion::Http11, (method, uri), fields);
    exchange.request.upload.buffered = Some(BufferedBody::Memory(body.into()));
    run_exchange(exchange)
}

const LOCK: &str = "<lockinfo xmlns='DAV:'><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner>me</owner></lockinfo>";

/// Returns the token in a response to LOCK.
fn token(answer: &PhaseResult) -> String {
    let (_, rest) = answer.text.split_once("<D:locktoken><D:href>").expect("a token");
    rest.split_once('<').expect("the end of the token").0.to_owned()
}

#[test]
fn propfind_returns_properties_of_folder_and_its_members() {
    let folder = TestFolder::new("dav-ext-propfind");
    let site = locking(&folder, "propfind");
    std::fs::write(folder.0.join("html/a & b.txt"), "12345").expect("a file");
    std::fs::write(folder.0.join("html/.myriad-0000000000000000"), "draft").expect("a draft");
    let listing = sent(&site, "PROPFIND", "/", "", &[("Depth", "1")]);
    assert_eq!(listing.status, 207);
    for part in [
        "<D:href>/</D:href>",
        "<D:href>/a%20&amp;%20b.txt</D:href>",
        "<D:displayname>a &amp; b.txt</D:displayname>",
        "<D:getcontentlength>5</D:getcontentlength>",
        "<D:href>/dir/</D:href>",
        "<D:collection/>",
    ] {
        assert!(listing.text.contains(part), "{part} in {}", listing.text);
    }
    assert!(!listing.text.contains("myriad"), "{}", listing.text);
    let alone = sent(&site, "PROPFIND", "/", "", &[("Depth", "0")]);
    assert!(!alone.text.contains("/dir/"));
    let named = "<propfind xmlns='DAV:'><prop><getetag/><x xmlns='urn:&quot;'/></prop></propfind>";
    let properties = sent(&site, "PROPFIND", "/dir/", named, &[("Depth", "0")]).text;
    assert!(
        properties.contains("<getetag xmlns=\"DAV:\"/>") && properties.contains("<x xmlns=\"urn:&quot;\"/>"),
        "{properties}"
    );
    for (uri, depth, body, status) in
        [("/", "infinity", "", 403), ("/none", "0", "", 404), ("/", "2", "", 400), ("/", "0", "<a>", 400)]
    {
        assert_eq!(sent(&site, "PROPFIND", uri, body, &[("Depth", depth)]).status, status, "{uri} {depth}");
    }
}

#[test]
fn answer_to_a_long_list_of_properties_is_bounded() {
    let folder = TestFolder::new("dav-ext-bounded");
    let site = locking(&folder, "bounded");
    for number in 0..100 {
        std::fs::write(folder.0.join(format!("html/dir/{number}")), "").expect("a file");
    }
    let space = "&quot;".repeat(60);
    let names: Vec<_> = (0..256).map(|number| format!("<x:{}{number}/>", "n".repeat(200))).collect();
    let body = |space: &str| {
        let names = names.concat();
        let body = format!("<propfind xmlns='DAV:'><prop xmlns:x='{space}'>{names}</prop></propfind>");
        &*body.leak()
    };
    let propfind = |depth, space: &str| sent(&site, "PROPFIND", "/dir/", body(space), &[("Depth", depth)]);
    assert_eq!(propfind("0", &space).status, 207);
    assert_eq!(propfind("1", &space.repeat(2)).status, 207);
    assert_eq!(propfind("1", &space.repeat(4)).status, 507);
    assert_eq!(propfind("0", &space.repeat(5)).status, 400, "a namespace of more than 256 bytes");
}

#[test]
fn locked_resource_is_changed_only_with_its_lock_token() {
    let folder = TestFolder::new("dav-ext-lock");
    let site = locking(&folder, "lock");
    let locked = sent(&site, "LOCK", "/dir/a.txt", LOCK, &[("Depth", "0"), ("Timeout", "Second-60")]);
    assert_eq!(locked.status, 201);
    assert!(locked.text.contains("<D:timeout>Second-60</D:timeout>"), "{}", locked.text);
    let token = token(&locked);
    let (held, other) = (format!("(<{token}>)"), "(<urn:uuid:other>)");
    assert_eq!(sent(&site, "LOCK", "/dir/a.txt", LOCK, &[]).status, 423);
    assert_eq!(sent(&site, "LOCK", "/dir/", LOCK, &[]).status, 423, "the folder contains a locked file");
    assert_eq!(put(&site, "/dir/a.txt", "x", &[]).status, 423);
    assert_eq!(put(&site, "/dir/a.txt", "x", &[("If", other)]).status, 423);
    assert_eq!(put(&site, "/dir/b.txt", "x", &[]).status, 201);
    for line in ["DELETE /dir/a.txt", "DELETE /dir/"] {
        assert_eq!(status(&site, line, &[]), 423, "{line}");
    }
    assert_eq!(copy(&site, "COPY /dir/b.txt", "/dir/a.txt"), 423);
    assert_eq!(copy(&site, "MOVE /dir/a.txt", "/dir/c.txt"), 423);
    assert_eq!(put(&site, "/dir/a.txt", "mine", &[("If", &held)]).status, 204);
    assert_eq!(sent(&site, "LOCK", "/dir/a.txt", "", &[("If", other)]).status, 412);
    assert_eq!(sent(&site, "LOCK", "/dir/a.txt", "", &[("If", &held)]).status, 200);
    let properties = sent(&site, "PROPFIND", "/dir/a.txt", "", &[("Depth", "0")]);
    assert!(
        properties.text.contains(&token) && properties.text.contains("<D:owner>me</D:owner>"),
        "{}",
        properties.text
    );
    let bare = format!("<{token}>");
    assert_eq!(status(&site, "UNLOCK /dir/a.txt", &[("Lock-Token", "<urn:uuid:other>")]), 409);
    assert_eq!(status(&site, "UNLOCK /dir/a.txt", &[("Lock-Token", &bare)]), 204);
    assert_eq!(status(&site, "DELETE /dir/a.txt", &[]), 204);
}

#[test]
fn lock_stays_where_its_holder_fails_to_delete_or_to_move() {
    let folder = TestFolder::new("dav-ext-fails");
    let site = locking(&folder, "fails");
    let token = token(&sent(&site, "LOCK", "/dir/a.txt", LOCK, &[("Depth", "0")]));
    std::fs::write(folder.0.join("html/b.txt"), "b").expect("a file");
    let held = format!("(<{token}>)");
    assert_eq!(status(&site, "DELETE /dir/a.txt", &[("If", &held), ("Depth", "1")]), 400);
    assert_eq!(put(&site, "/dir/a.txt", "x", &[]).status, 423);
    let without_overwrite = [("If", &*held), ("Destination", "/b.txt"), ("Overwrite", "F")];
    assert_eq!(status(&site, "MOVE /dir/a.txt", &without_overwrite), 412);
    assert_eq!(put(&site, "/dir/a.txt", "x", &[]).status, 423);
    assert_eq!(status(&site, "MOVE /dir/a.txt", &without_overwrite[..2]), 204);
    assert_eq!(put(&site, "/dir/a.txt", "x", &[]).status, 201, "the lock ended with the file");
}

#[test]
fn file_that_is_locked_while_a_body_comes_is_not_replaced() {
    let folder = TestFolder::new("dav-ext-race");
    let site = locking(&folder, "race");
    let mut upload = site.received_request(HttpVersion::Http11, ("PUT", "/dir/a.txt"), &[]);
    upload.request.upload.buffered = Some(BufferedBody::Memory("late".into()));
    let lock = || assert_eq!(sent(&site, "LOCK", "/dir/a.txt", LOCK, &[]).status, 201);
    assert_eq!(run_exchange_meanwhile(upload, lock).status, 423);
    assert_eq!(std::fs::read(folder.0.join("html/dir/a.txt")).expect("the file of the lock"), b"");
}

#[test]
fn folder_is_locked_with_what_is_in_it() {
    let folder = TestFolder::new("dav-ext-deep");
    let site = locking(&folder, "deep");
    let token = token(&sent(&site, "LOCK", "/dir/", LOCK, &[]));
    let condition = format!("</dir/> (<{token}>)");
    assert_eq!(put(&site, "/dir/a.txt", "x", &[]).status, 423);
    assert_eq!(put(&site, "/dir/a.txt", "x", &[("If", &condition)]).status, 201);
    // The root of the lock is the directory, not its member.
    let root = "<D:lockroot><D:href>/dir/</D:href></D:lockroot>";
    let member = sent(&site, "PROPFIND", "/dir/a.txt", "", &[("Depth", "0")]);
    assert!(member.text.contains(root), "{}", member.text);
    let renewed = sent(&site, "LOCK", "/dir/a.txt", "", &[("If", &condition)]);
    assert_eq!(renewed.status, 200);
    assert!(renewed.text.contains(root), "{}", renewed.text);
    assert_eq!(sent(&site, "LOCK", "/none/", LOCK, &[]).status, 409);
    assert_eq!(sent(&site, "LOCK", "/dir/x.txt", "<lockinfo xmlns='DAV:'/>", &[]).status, 400);
}

#[test]
fn options_name_what_may_be_done() {
    let folder = TestFolder::new("dav-ext-options");
    let answer = send_request(&locking(&folder, "options"), "OPTIONS /", &[]);
    assert_eq!(answer.status, 200);
}
