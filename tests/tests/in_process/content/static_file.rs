//! Tests of static files and directories.

use myriad_serve::testing::{TestFolder, TestSite, send_request};

fn site(name: &str, rules: &str) -> (TestFolder, TestSite) {
    let folder = TestFolder::new(&format!("static-{name}"));
    let site = TestSite::in_folder(&folder.0, "root .; absolute_redirect off;", rules);
    (folder, site)
}

fn create_folder(folder: &TestFolder, name: &str) {
    std::fs::create_dir_all(folder.0.join(name)).expect("a folder");
}

#[test]
fn redirect_to_folder_re_escapes_uri() {
    let (folder, site) = site("escape", "");
    for (name, target, location) in [
        ("a b", "/a%20b?x=%20", "/a%20b/?x=%20"),
        ("c?d", "/c%3Fd", "/c%3Fd/"),
        ("e#f", "/e%23f", "/e%23f/"),
        ("g%41", "/g%2541", "/g%2541/"),
        ("h\r\nX-Evil: 1", "/h%0d%0aX-Evil:%201", "/h%0D%0AX-Evil:%201/"),
    ] {
        create_folder(&folder, name);
        let reached = send_request(&site, &format!("GET {target}"), &[]);
        assert_eq!((reached.status, reached.location()), (301, Some(location)), "{name:?}");
    }
}

#[test]
fn redirect_to_a_folder_names_no_other_host() {
    let (folder, site) = site("host", "merge_slashes off;");
    create_folder(&folder, "evil.test");
    create_folder(&folder, "\\evil.test");
    assert_eq!(send_request(&site, "GET //evil.test", &[]).location(), Some("/evil.test/"));
    assert_eq!(send_request(&site, "GET ///evil.test", &[]).location(), Some("/evil.test/"));
    // Browsers treat a backslash as a slash.
    assert_eq!(send_request(&site, "GET /%5Cevil.test", &[]).location(), Some("/%5Cevil.test/"));
}

#[test]
fn folder_called_like_an_index_is_redirected_to_as_in_nginx() {
    let (folder, site) = site("index", "index index.html second.html;");
    create_folder(&folder, "index.html");
    folder.write("second.html", "second");
    let reached = send_request(&site, "GET /", &[]);
    assert_eq!((reached.status, reached.location()), (301, Some("/index.html/")));
}

#[test]
fn what_is_neither_file_nor_folder_is_not_sent() {
    let (folder, site) = site("socket", "");
    let _socket = std::os::unix::net::UnixListener::bind(folder.0.join("socket")).expect("a socket");
    assert_eq!(send_request(&site, "GET /socket", &[]).status, 404, "as nginx");
}

#[test]
fn name_that_no_file_can_have_is_not_found() {
    let (folder, site) = site("long", "");
    folder.write("a.txt", "a");
    let long = format!("GET /{}", "a".repeat(300));
    assert_eq!(send_request(&site, &long, &[]).status, 404);
    assert_eq!(send_request(&site, "GET /a.txt/b.txt", &[]).status, 404, "a file in place of a folder");
    assert_eq!(send_request(&site, "GET /a.txt%2fb.txt", &[]).status, 404);
}

#[test]
fn file_that_is_posted_to_as_the_page_of_an_error_is_sent() {
    // In nginx, `error_page 405 =200 $uri` and similar serve static files for POST requests.
    let (folder, site) = site("post", "error_page 404 /sorry.html;");
    folder.write("sorry.html", "sorry");
    let reached = send_request(&site, "POST /none", &[]);
    assert_eq!((reached.status, &reached.text[..]), (404, "sorry"));
    assert_eq!(send_request(&site, "POST /sorry.html", &[]).status, 405);
}

#[test]
fn alias_is_not_climbed_out_of_by_a_location_without_its_slash() {
    let (folder, site) = site("alias", "location /i { alias pictures/; }");
    create_folder(&folder, "pictures");
    folder.write("secret.txt", "secret");
    folder.write("pictures/a.txt", "a");
    assert_eq!(send_request(&site, "GET /ia.txt", &[]).text, "a");
    assert_eq!(send_request(&site, "GET /i../secret.txt", &[]).status, 404);
    assert_eq!(send_request(&site, "GET /i..%2fsecret.txt", &[]).status, 404);
}
