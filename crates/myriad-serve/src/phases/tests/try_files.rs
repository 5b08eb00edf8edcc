use crate::testing::send_request;
use crate::testing::{TestFolder, TestSite};

/// Creates a folder with the file `a.html`, a folder `dir` with an index, and `b.html.gz` without `b.html`.
fn folder(name: &str) -> TestFolder {
    let folder = TestFolder::new(name);
    std::fs::create_dir_all(folder.0.join("dir")).expect("a folder");
    folder.write("a.html", "page a");
    folder.write("dir/index.html", "index of dir");
    folder.write("b.html.gz", "packed b");
    folder
}

#[test]
fn first_name_that_is_there_is_the_content() {
    let folder = folder("try-first");
    let site = TestSite::in_folder(&folder.0, "root .;", "location / { try_files $uri $uri.html =404; }");
    let found = send_request(&site, "GET /a", &[]);
    assert_eq!((found.status, found.text.as_str(), found.uri().as_str()), (200, "page a", "/a.html"));
    assert_eq!(send_request(&site, "GET /a.html", &[]).text, "page a");
    assert_eq!(send_request(&site, "GET /none", &[]).status, 404);
}

#[test]
fn folder_counts_where_the_name_ends_in_a_slash() {
    let folder = folder("try-folder");
    let rules = "location / { try_files $uri/ =404; }";
    let site = TestSite::in_folder(&folder.0, "root .;", rules);
    assert_eq!(send_request(&site, "GET /a.html", &[]).status, 404);
    let reached = send_request(&site, "GET /dir", &[("Host", "a.test")]);
    assert_eq!((reached.status, reached.location()), (301, Some("http://a.test:8080/dir/")));
}

#[test]
fn last_word_is_a_status_or_a_uri_with_its_own_arguments() {
    let folder = folder("try-last");
    let site = TestSite::in_folder(
        &folder.0,
        "root .;",
        "location / { try_files $uri /app?q=$uri&$args; }
         location /kept { try_files $uri =410; }
         location = /app { return 200 $args; }",
    );
    assert_eq!(send_request(&site, "GET /none?x=y", &[]).text, "q=/none&x=y");
    assert_eq!(send_request(&site, "GET /kept", &[]).status, 410);
}

#[test]
fn last_word_without_a_slash_is_a_uri_that_no_location_has() {
    let folder = folder("try-word");
    let site = TestSite::in_folder(&folder.0, "root .;", "location / { try_files $uri = 404; }");
    let reached = send_request(&site, "GET /none", &[]);
    assert_eq!((reached.status, reached.exchange.request.route.redirects), (404, 1));
}

#[test]
fn try_files_result_is_cached_while_valid() {
    let folder = folder("try-memory");
    let site = TestSite::in_folder(
        &folder.0,
        "root .; open_file_cache max=100; open_file_cache_valid 60s;",
        "location / { try_files $uri /a.html; }",
    );
    let first = send_request(&site, "GET /none", &[]);
    let request = &first.exchange.request;
    let tried = request.site.memo.try_files_result(request.route.place, b"/none", request.received.at_ms);
    assert_eq!(
        tried.map(|tried| tried.candidate),
        Some(None),
        "no candidate exists, so the last argument applies"
    );
    assert_eq!((first.status, first.text.as_str()), (200, "page a"));
    let again = send_request(&site, "GET /none", &[]);
    assert_eq!((again.status, again.text.as_str(), again.waited), (200, "page a", false));
}

#[test]
fn try_files_names_follow_alias() {
    let folder = folder("try-alias");
    let site = TestSite::in_folder(
        &folder.0,
        "",
        &format!("location /files/ {{ alias {}/; try_files $uri a.html =404; }}", folder.0.display()),
    );
    assert_eq!(send_request(&site, "GET /files/dir/index.html", &[]).text, "index of dir");
    assert_eq!(send_request(&site, "GET /files/none", &[]).text, "page a");
}
