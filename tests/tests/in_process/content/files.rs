//! Tests of the content handler for files: methods, indexes, purges.

use myriad_serve::testing::{PhaseResult, send_request};
use myriad_serve::testing::{TestFolder, TestSite};

/// Returns a site whose root contains the file `page.txt`, a directory `with` that has an index, and a directory
/// `without`.
fn site(name: &str, rules: &str) -> (TestFolder, TestSite) {
    let folder = TestFolder::new(name);
    for child in ["with", "without"] {
        std::fs::create_dir_all(folder.0.join(child)).expect("a folder");
    }
    folder.write("page.txt", "the page");
    folder.write("with/index.html", "the index");
    let site = TestSite::in_folder(&folder.0, "root .;", rules);
    (folder, site)
}

fn status_and_text(reached: &PhaseResult) -> (u16, &str) {
    (reached.status, &reached.text)
}

#[test]
fn file_is_read_once_and_sent_from_memory_then() {
    let (_folder, site) = site("file-once", "open_file_cache max=10; open_file_cache_valid 60s;");
    let first = send_request(&site, "GET /page.txt", &[]);
    assert_eq!((status_and_text(&first), first.waited), ((200, "the page"), true));
    let second = send_request(&site, "GET /page.txt", &[]);
    assert_eq!((status_and_text(&second), second.waited), ((200, "the page"), false));
}

#[test]
fn only_get_and_head_take_a_file() {
    let (_folder, site) = site("file-methods", "");
    for (line, status) in [
        ("HEAD /page.txt", 200),
        ("POST /page.txt", 405),
        ("POST /none.txt", 404),
        ("PUT /page.txt", 405),
        ("DELETE /none.txt", 405),
        ("DELETE /with/", 405),
    ] {
        assert_eq!(send_request(&site, line, &[]).status, status, "{line}");
    }
}

#[test]
fn folder_is_its_index_or_forbidden() {
    let (_folder, site) = site("file-folders", "");
    let index = send_request(&site, "GET /with/", &[]);
    assert_eq!((status_and_text(&index), index.uri().as_str()), ((200, "the index"), "/with/index.html"));
    assert_eq!(send_request(&site, "GET /without/", &[]).status, 403);
    assert_eq!(send_request(&site, "GET /none/", &[]).status, 404);
    assert_eq!(send_request(&site, "GET /page.txt/", &[]).status, 404);
    let slashless = send_request(&site, "GET /with?a", &[("Host", "a.test")]);
    assert_eq!((slashless.status, slashless.location()), (301, Some("http://a.test:8080/with/?a")));
}

#[test]
fn index_that_is_a_uri_leads_there_with_the_arguments() {
    let (_folder, site) =
        site("file-index", "index none.html /app; location = /app { return 200 $uri?$args; }");
    assert_eq!(send_request(&site, "GET /without/?a=b", &[]).text, "/app?a=b");
}

#[test]
fn post_to_folder_reaches_its_index_script() {
    let (_folder, site) = site("file-form", "location ~ html$ { return 200 script; }");
    assert_eq!(status_and_text(&send_request(&site, "POST /with/", &[])), (200, "script"));
}

#[test]
fn compressed_copy_is_sent_to_clients_accepting_it() {
    let (folder, site) = site("file-copy", "gzip_static on;");
    folder.write("page.txt.gz", "the copy");
    assert_eq!(send_request(&site, "GET /page.txt", &[("Accept-Encoding", "gzip")]).text, "the copy");
    assert_eq!(send_request(&site, "GET /page.txt", &[]).text, "the page");
}

#[test]
fn purge_of_a_file_is_for_the_zones_of_its_server() {
    let zone = "proxy_cache_path /nowhere/cache keys_zone=z:1m;";
    let folder = TestFolder::new("file-purge");
    folder.write("page.txt", "the page");
    let rules = "location /app { proxy_pass http://127.0.0.1:1; proxy_cache z; proxy_cache_purge DELETE from 127.0.0.1; }";
    let site = TestSite::in_folder(&folder.0, &format!("root .; {zone}"), rules);
    assert_eq!(
        send_request(&site, "DELETE /page.txt", &[("Host", "localhost")]).status,
        412,
        "nothing was stored"
    );
    assert_eq!(send_request(&site, "PUT /page.txt", &[("Host", "localhost")]).status, 405);
    assert_eq!(
        send_request(&site, "DELETE /without/", &[("Host", "localhost")]).status,
        404,
        "the index file is looked up"
    );
}
