//! covers: optimize optimize_filters optimize_exclude optimize_budget $optimized
//! `optimize`: the optimized form of stored pages, and the bundles that it names.

use std::fs;
use std::process::Command;

use myriad_tests::{Answer, Cached, Call, Origin, Place, Request, Server, Signal, binary, wait_for};

const ONE: &str = "/* one */\nbody { color: red; }\n.a { background: url(i.png); }\n";
const TWO: &str = "/* two */\np { color: blue; }\n";
const PAGE: &str = "<!DOCTYPE html><html><head><meta charset=utf-8>\n<link rel=stylesheet href=/css/one.css>\n\
    <link rel=stylesheet href=/css/two.css>\n</head><body><p>Hello   you</p>\n\n</body></html>";
/// Directives of a server that optimizes pages without waiting for a budget. Short style sheets remain files.
const ON: &str = "optimize safe; optimize_budget 100%; optimize_filters -inline_css;";

/// Starts a server with two style sheets in files.
fn start_with(rules: &str, handle: impl Fn(&mut Call) + Send + Sync + 'static) -> (Server, Origin) {
    start_keyed(Cached::default().key, rules, handle)
}

fn start_keyed(
    key: &str,
    rules: &str,
    handle: impl Fn(&mut Call) + Send + Sync + 'static,
) -> (Server, Origin) {
    let server = format!(
        "fastcgi_cache_valid 200 404 1h; add_header Form $optimized; {rules} gzip on; gzip_types text/css; gzip_min_length 20;
         location /css/ {{ try_files $uri =404; }}"
    );
    let origin = Origin::start(handle);
    let place = Place::new();
    place.write("html/css/one.css", ONE);
    place.write("html/css/two.css", TWO);
    let http = "types { text/css css; text/javascript js; }";
    let server =
        Cached { http, key, server: &server, ..Cached::default() }.start_before(place, &origin.address);
    (server, origin)
}

fn start(rules: &str) -> (Server, Origin) {
    start_with(rules, |call| call.answer("Content-Type: text/html; charset=utf-8", PAGE))
}

fn form(answer: &Answer) -> &str {
    answer.field("Form").unwrap_or_default()
}

/// Requests a page until its optimized form is sent.
fn optimized(server: &Server, request: &Request) -> Answer {
    let mut answer = None;
    wait_for("the optimized form", || {
        let came = server.fetch(request);
        let is_form = form(&came) == "safe";
        answer = Some(came);
        is_form
    });
    answer.expect("an answer")
}

/// Returns the path of the bundle that a page names.
fn bundle(page: &str) -> &str {
    let at = page.find("/_myriad/").unwrap_or_else(|| panic!("no bundle in {page}"));
    page[at..].split('"').next().expect("text")
}

#[test]
fn hit_gets_a_smaller_page_whose_style_sheets_are_one() {
    let (server, origin) = start(ON);
    let first = server.get("/");
    assert_eq!((first.cache(), form(&first), first.text().as_str()), ("MISS", "", PAGE));
    let page = optimized(&server, &Request::get("/"));
    assert_eq!(page.cache(), "HIT");
    let text = page.text();
    assert!(
        text.len() < PAGE.len() && text.contains("<p>Hello you</p>") && !text.contains("one.css"),
        "{text}"
    );
    let style = server.get(bundle(&text));
    assert_eq!(
        (style.status, style.text().as_str(), style.field("Content-Type"), style.field("Cache-Control")),
        (
            200,
            "body{color:red;}.a{background:url(/css/i.png);}\np{color:blue;}",
            Some("text/css; charset=utf-8"),
            Some("public, max-age=31536000, immutable")
        )
    );
    assert_eq!(origin.calls(), ["GET /"], "files are read without a request to the origin");
    // The original and the form have different entity tags.
    let tag = page.field("ETag").expect("a tag").to_owned();
    assert_ne!(first.field("ETag"), Some(&*tag));
    assert_eq!(server.fetch(&Request::get("/").field("If-None-Match", &tag)).status, 304);
    let tag = style.field("ETag").expect("a tag").to_owned();
    assert_eq!(server.fetch(&Request::get(bundle(&text)).field("If-None-Match", &tag)).status, 304);
    let head = server.fetch(&Request::head("/"));
    assert_eq!((form(&head), head.field("Content-Length")), ("safe", Some(&*text.len().to_string())));
}

#[test]
fn each_encoding_has_the_optimized_form() {
    let (server, _origin) = start(ON);
    server.get("/");
    optimized(&server, &Request::get("/"));
    let zipped = server.fetch(&Request::get("/").field("Accept-Encoding", "gzip"));
    assert_eq!((form(&zipped), zipped.field("Content-Encoding")), ("safe", Some("gzip")));
    assert!(zipped.text().contains("<p>Hello you</p>"), "{}", zipped.text());
}

#[test]
fn changed_and_removed_files_end_the_use_of_a_form() {
    let (server, _origin) = start(ON);
    server.get("/");
    let before = optimized(&server, &Request::get("/")).text();
    fs::write(server.path("html/css/two.css"), "p { color: green; } ").expect("written");
    wait_for("a form of the new file", || {
        let page = server.get("/");
        form(&page) == "safe"
            && page.text() != before
            && server.get(bundle(&page.text())).text().contains("green")
    });
    assert_eq!(server.get(bundle(&before)).status, 200, "a browser may still need it");
    fs::remove_file(server.path("html/css/two.css")).expect("removed");
    wait_for("a page without a bundle", || !server.get("/").text().contains("/_myriad/"));
    assert!(server.get("/").text().contains("two.css"));
}

#[test]
fn page_that_names_itself_as_an_image_keeps_its_form() {
    let page = PAGE.replace("<body>", "<body><img src=\"\">");
    let (server, _origin) = start_with(&format!("{ON} location = /metrics {{ metrics; }}"), move |call| {
        call.answer("Content-Type: text/html; charset=utf-8", &page);
    });
    server.get("/");
    let before = optimized(&server, &Request::get("/")).text();
    fs::write(server.path("html/css/two.css"), "p { color: green; } ").expect("written");
    wait_for("a form of the new file", || {
        let page = server.get("/");
        form(&page) == "safe" && page.text() != before
    });
    let metrics = server.get("/metrics").text();
    let revoked =
        metrics.lines().find_map(|line| line.strip_prefix("myriad_cache_optimized_forms_revoked_total{"));
    assert!(revoked.is_some_and(|line| line.ends_with(" 1")), "{revoked:?}");
}

#[test]
fn purge_removes_the_form_and_not_the_bundle() {
    let (server, origin) = start(&format!("{ON} fastcgi_cache_purge PURGE from 127.0.0.1;"));
    server.get("/");
    let page = optimized(&server, &Request::get("/")).text();
    assert_eq!(server.fetch(&Request::new("PURGE", "/")).status, 200);
    let next = server.get("/");
    assert_eq!((next.cache(), form(&next), origin.calls().len()), ("MISS", "", 2));
    assert_eq!(server.get(bundle(&page)).status, 200);
}

#[test]
fn bundle_is_available_after_a_restart() {
    let (mut server, _origin) = start(ON);
    server.get("/");
    let page = optimized(&server, &Request::get("/")).text();
    let style = server.get(bundle(&page));
    let has_bundle = |path: std::path::PathBuf| {
        fs::read(path).is_ok_and(|bytes| bytes.windows(8).any(|part| part == b"\0bundle="))
    };
    wait_for("the file of the bundle", || {
        fs::read_dir(server.path("cache")).expect("a folder").flatten().any(|entry| has_bundle(entry.path()))
    });
    server.restart(Signal::QUIT);
    let again = server.get(bundle(&page));
    assert_eq!((again.status, again.text()), (200, style.text()));
    let unknown = server.get("/_myriad/00000000000000000000000000000000.css");
    assert_eq!(unknown.text(), PAGE, "other paths belong to the application");
}

#[test]
fn pages_with_obstacles_remain_as_they_are() {
    for (rules, fields, reason) in [
        ("leak_guard off;", "", "leak_guard off"),
        ("sub_filter x y; sub_filter_once off;", "", "sub_filter"),
        ("", "\r\nCache-Control: no-transform, max-age=60", "no-transform"),
        ("", "\r\nRepr-Digest: sha-256=:AA==:", "digest"),
        ("optimize_exclude /*;", "", "excluded by the configuration"),
    ] {
        let (server, _origin) = start_with(&format!("{rules} {ON}"), move |call| {
            call.answer(&format!("Content-Type: text/html; charset=utf-8{fields}"), PAGE);
        });
        wait_for(reason, || {
            let page = server.get("/");
            assert_eq!((form(&page), page.text().contains("one.css")), ("", true), "{rules} {fields}");
            let text = shown(&server);
            text.contains("no: ") && text.contains(reason)
        });
        assert_eq!(form(&server.get("/")), "", "{rules} {fields}");
    }
}

#[test]
fn request_with_an_unusual_path_does_not_decide_about_urls() {
    let page = PAGE.replace("href=/css/", "href=../css/");
    let (server, _origin) = start_keyed("$uri", ON, move |call| {
        call.answer("Content-Type: text/html; charset=utf-8", &page);
    });
    for path in ["/a/page", "/a//page", "//a/page", "/x/%2e%2e/a/page", "/./a/page"] {
        assert_eq!(form(&server.get(path)), "", "{path}");
    }
    let text = optimized(&server, &Request::get("/a/page")).text();
    let style = server.get(bundle(&text)).text();
    assert!(style.contains("url(/css/i.png)"), "{style}");
}

#[test]
fn each_host_gets_the_bundles_of_a_page_without_host_in_its_key() {
    let rules = format!("{ON} fastcgi_param HTTP_HOST fixed;");
    let (server, _origin) = start_keyed("$uri", &rules, |call| {
        call.answer("Content-Type: text/html; charset=utf-8", PAGE);
    });
    let of = |host: &str, path: &str| Request::get(path).field("Host", host);
    server.fetch(&of("a.test", "/"));
    let page = optimized(&server, &of("b.test", "/")).text();
    assert_eq!(server.fetch(&of("c.test", bundle(&page))).status, 200);
}

#[test]
fn confirmed_page_keeps_its_form() {
    let (server, _origin) = start_with(&format!("fastcgi_cache_revalidate on; {ON}"), |call| {
        let head = "Content-Type: text/html; charset=utf-8\r\nETag: \"one\"\r\nX-Accel-Expires: 1";
        if call.param("HTTP_IF_NONE_MATCH").is_empty() {
            call.answer(head, PAGE);
        } else {
            call.answer(&format!("Status: 304\r\n{head}"), "");
        }
    });
    server.get("/");
    optimized(&server, &Request::get("/"));
    wait_for("a confirmation", || server.get("/").cache() == "REVALIDATED");
    wait_for("a hit", || {
        let page = server.get("/");
        assert_eq!(form(&page), "safe", "{}", page.cache());
        page.cache() == "HIT"
    });
}

#[test]
fn filters_and_policies_decide_which_changes_are_made() {
    let (server, _origin) = start(&format!("{ON} optimize_filters -combine_css -rewrite_css;"));
    server.get("/");
    let text = optimized(&server, &Request::get("/")).text();
    assert!(text.contains("one.css") && text.contains("Hello you"), "{text}");
    let (server, _origin) = start(&format!("{ON} add_header Content-Security-Policy \"style-src 'self'\";"));
    server.get("/");
    let text = optimized(&server, &Request::get("/")).text();
    assert!(text.contains("one.css") && text.contains("Hello you"), "{text}");
}

#[test]
fn restricted_files_are_not_read() {
    let image = "<body><img src=/i.png width=800 height=600>";
    let page = PAGE.replace("<body>", image);
    let (server, _origin) =
        start_with(&format!("{ON} location = /css/two.css {{ deny all; }}"), move |call| {
            call.answer("Content-Type: text/html; charset=utf-8", &page);
        });
    server.get("/");
    let text = optimized(&server, &Request::get("/")).text();
    assert!(text.contains("two.css") && text.contains("fetchpriority"), "{text}");
}

/// Runs `myriad optimize show` for the page.
fn shown(server: &Server) -> String {
    let mut show = Command::new(binary());
    show.args(["optimize", "show", "http://localhost/", "-c", "myriad.conf", "-p"]).arg(server.folder());
    String::from_utf8_lossy(&show.output().expect("myriad runs").stdout).into_owned()
}

#[test]
fn command_shows_what_was_done_and_why_not() {
    let (server, _origin) = start(&format!("{ON} optimize_exclude /css/two.css;"));
    server.get("/");
    assert!(shown(&server).contains("no optimized form:"), "{}", shown(&server));
    optimized(&server, &Request::get("/"));
    let text = shown(&server);
    for part in [" bytes instead of ", "collapse_whitespace", "two.css: excluded by the configuration"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (server, _origin) = start(&format!("leak_guard off; {ON}"));
    server.get("/");
    wait_for("the reason", || server.get("/").status == 200 && shown(&server).contains("no: "));
    assert!(shown(&server).contains("no: the page was not searched for data of visitors (leak_guard off)"));
}

#[test]
fn known_visitors_get_the_optimized_form_with_their_own_parts() {
    let (server, _origin) = start_with(
        &format!("{ON} esi on; esi_known_cookies wordpress_logged_in_*;"),
        |call| {
            if call.uri() == "/" {
                let head = "Content-Type: text/html; charset=utf-8\r\nSurrogate-Control: content=\"ESI/1.0\"\r\n\
                X-Myriad-ESI: known";
                let part = "<esi:include src='/part'><b>  guest  </b></esi:include>   and   all";
                return call.answer(head, PAGE.replace("you", part));
            }
            let name = call.param("HTTP_COOKIE").replace("wordpress_logged_in_1=", "");
            call.answer("Content-Type: text/html\r\nCache-Control: private", format!("<b>  {name}  </b>"));
        },
    );
    server.get("/");
    let page = optimized(&server, &Request::get("/")).text();
    assert!(page.contains("guest") && page.contains(" and all"), "{page}");
    let own = server.fetch(&Request::get("/").field("Cookie", "wordpress_logged_in_1=Margarete")).text();
    assert!(own.contains("<b>  Margarete  </b> and all") && !own.contains("guest"), "{own}");
    assert!(own.contains("/_myriad/") && own.trim_end().ends_with("</html>"), "{own}");
}
