//! Known visitors: logged-in users, commenters, authors.

use myriad_tests::{Request, Server, Visitor, WordPress, wait_for};

use super::{browser, page, some_post, start};

#[test]
fn logged_in_user_gets_own_page_and_others_do_not() {
    let (site, server) = start();
    let mut admin = site.log_in(&server);
    for _ in 0..2 {
        let own = admin.get("/");
        assert_eq!((own.status, own.cache()), (200, "BYPASS"));
        assert!(own.text().contains("wpadminbar"));
        let stranger = page(&server, "/");
        assert!(!stranger.text().contains("wpadminbar"), "an administrator's page was shared");
        assert!(!stranger.text().contains("Howdy"));
    }
    assert_eq!(page(&server, "/").cache(), "HIT");
    assert!(admin.get("/").text().contains("wpadminbar"), "a shared page was given to the administrator");
    let dashboard = admin.get("/wp-admin/");
    assert_eq!((dashboard.status, dashboard.cache()), (200, "BYPASS"));
    assert!(dashboard.text().contains("Dashboard"));
    let stranger = page(&server, "/wp-admin/");
    assert_eq!(stranger.status, 302, "anonymous visitors are redirected to the log-in page");
}

#[test]
fn concurrent_logins_all_have_a_session() {
    let (site, server) = start();
    let pages: Vec<_> = std::thread::scope(|scope| {
        let logins: Vec<_> = (0..8).map(|_| scope.spawn(|| site.log_in(&server))).collect();
        let visitors: Vec<_> = logins.into_iter().map(|login| login.join().expect("a login")).collect();
        visitors.into_iter().map(|mut visitor| visitor.get("/wp-admin/profile.php").status).collect()
    });
    assert_eq!(pages, [200; 8], "without a session, the response is a redirect to the log-in page");
}

#[test]
fn the_log_in_page_is_never_cached() {
    let (_site, server) = start();
    for _ in 0..3 {
        let answer = page(&server, "/wp-login.php");
        assert_eq!((answer.status, answer.cache()), (200, "-"));
        assert!(answer.field("Set-Cookie").is_some_and(|cookie| cookie.starts_with("wordpress_test_cookie")));
    }
    let mut visitor = Visitor::new(server.port);
    visitor.get("/wp-login.php");
    page(&server, "/");
    assert_eq!(visitor.get("/").cache(), "HIT", "the test cookie does not identify a visitor");
    let refused = visitor.post("/wp-login.php", &[("log", "admin"), ("pwd", "wrong"), ("testcookie", "1")]);
    assert_eq!(refused.status, 200);
    assert!(!visitor.has_cookie("wordpress_logged_in_"));
}

#[test]
fn a_visitor_may_comment_and_sees_the_comment() {
    let (_site, server) = start();
    let post = some_post(&server);
    let text = page(&server, &post).text();
    let id = text.split("name='comment_post_ID' value='").nth(1).and_then(|rest| rest.split('\'').next());
    let id = id.expect("the comment form").to_owned();
    let mut visitor = Visitor::new(server.port);
    let words = format!("A comment from a test, {}.", server.port);
    let form = [
        ("comment", words.as_str()),
        ("author", "Ada Example"),
        ("email", "ada@example.org"),
        ("comment_post_ID", &id),
        ("comment_parent", "0"),
        ("wp-comment-cookies-consent", "yes"),
    ];
    let answer = visitor.post("/wp-comments-post.php", &form);
    assert_eq!(answer.status, 302, "{}", answer.text());
    assert!(visitor.has_cookie("comment_author_"));
    let own = visitor.get(&post);
    assert_eq!(own.cache(), "BYPASS", "visitors who have commented get pages with their name");
    assert!(own.text().contains(&words));
    // A URL that has not been requested: the response to a known visitor must not be stored as the shared page.
    let target = format!("{post}?again={}", server.port);
    let own = visitor.get(&target);
    assert_eq!(own.cache(), "BYPASS");
    assert!(own.text().contains("value=\"Ada Example\"") && own.text().contains("ada@example.org"));
    // The request may have caused a fetch of the shared page, which is sometimes tried to find out whether the page has
    // fragments for known visitors.
    let first = page(&server, &target);
    assert!(matches!(first.cache(), "MISS" | "HIT"), "{}", first.cache());
    for (target, status) in [(&post, "EXPIRED"), (&post, "HIT"), (&target, "HIT")] {
        let stranger = page(&server, target);
        assert_eq!(stranger.cache(), status, "{target}");
        assert!(
            !stranger.text().contains("ada@example.org"),
            "the form of an anonymous visitor contains an address"
        );
        assert!(
            !stranger.text().contains("value=\"Ada Example\""),
            "the form of an anonymous visitor contains a name"
        );
    }
}

#[test]
fn a_post_is_published_through_the_rest_interface() {
    let (site, server) = start();
    let mut admin = site.log_in(&server);
    let nonce = admin.get("/wp-admin/admin-ajax.php?action=rest-nonce").text();
    assert!(nonce.len() >= 10 && nonce.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{nonce}");
    let slug = format!("published-by-a-test-{}", server.port);
    let body = format!(
        "{{\"title\":\"Published by a test\",\"slug\":\"{slug}\",\"status\":\"publish\",\"content\":\"Words.\"}}"
    );
    let request = Request::post("/wp-json/wp/v2/posts", body)
        .field("Content-Type", "application/json")
        .field("X-WP-Nonce", &nonce);
    let answer = admin.fetch(request);
    assert_eq!(answer.status, 201, "{}", answer.text());
    let published = page(&server, &format!("/{slug}/"));
    assert_eq!(published.status, 200);
    assert!(published.text().contains("Published by a test"));
    assert_eq!(page(&server, &format!("/{slug}/")).cache(), "HIT");
    let unsigned = Request::post("/wp-json/wp/v2/posts", "{}").field("Content-Type", "application/json");
    assert_eq!(Visitor::new(server.port).fetch(unsigned).status, 401);
}

#[test]
fn permalinks_are_saved_without_a_script_in_them() {
    let (site, server) = start();
    let mut admin = site.log_in(&server);
    let settings = admin.get("/wp-admin/options-permalink.php").text();
    assert!(settings.contains("permalink_structure"), "{settings}");
    assert!(!settings.contains("/index.php/"), "WordPress offers only permalinks with /index.php/");
}

/// Creates a post for one test; returns its id and its path.
fn new_post(site: &WordPress, server: &Server, name: &str) -> (String, String) {
    let script = format!(
        "<?php require 'wp-load.php'; $id = wp_insert_post(['post_title' => '{name}', 'post_name' => '{name}', \
         'post_content' => 'words', 'post_status' => 'publish']); echo $id, ' ', get_permalink($id);"
    );
    let told = run_script(site, server, &format!("new-{name}.php"), &script);
    let (id, link) = told.split_once(' ').expect("number and address");
    let path = link.splitn(4, '/').nth(3).map(|path| format!("/{path}")).expect("a path");
    (id.to_owned(), path)
}

/// Returns the output of a script in the site's folder; removes the script.
fn run_script(site: &WordPress, server: &Server, name: &str, script: &str) -> String {
    site.write(name, script);
    let answer =
        server.fetch(&browser(server, &format!("/{name}")).field("X-Requested-With", "XMLHttpRequest"));
    assert_eq!(answer.status, 200, "{name}: {}", answer.text());
    std::fs::remove_file(site.root().join(name)).expect("remove");
    answer.text()
}

/// Without a purge, the stale page is replaced by the background refresh.
#[test]
fn a_post_that_is_trashed_or_made_private_is_gone() {
    let site = WordPress::shared();
    let changes = [
        ("trashed", "wp_trash_post($id)"),
        ("private", "wp_update_post(['ID' => $id, 'post_status' => 'private'])"),
    ];
    for (name, change) in changes {
        let server = site.serve_with(&["--set", "validity=1s"]);
        let (id, path) = new_post(&site, &server, name);
        assert_eq!(page(&server, &path).status, 200);
        let script = format!("<?php require 'wp-load.php'; $id = {id}; {change}; echo 'done';");
        assert_eq!(run_script(&site, &server, &format!("change-{name}.php"), &script), "done");
        wait_for(&format!("the end of the post that is {name}"), || page(&server, &path).status == 404);
        for _ in 0..5 {
            assert_eq!(page(&server, &path).status, 404, "{name}");
        }
    }
}

/// A commenter who does not consent to storing the name receives no cookie, and is redirected to the shared page.
#[test]
fn commenter_without_cookie_sees_new_comment() {
    let (site, server) = start();
    let (id, post) = new_post(&site, &server, "commented");
    page(&server, &post);
    assert_eq!(page(&server, &post).cache(), "HIT");
    let mut visitor = Visitor::new(server.port);
    let words = format!("Without a cookie, {}.", server.port);
    let form = [
        ("comment", words.as_str()),
        ("author", "Grace Example"),
        ("email", "grace@example.org"),
        ("comment_post_ID", &id),
        ("comment_parent", "0"),
    ];
    let answer = visitor.post("/wp-comments-post.php", &form);
    assert_eq!(answer.status, 302, "{}", answer.text());
    // WordPress deletes the cookie that it has not set; a browser then has none.
    assert!(answer.all("Set-Cookie").all(|cookie| cookie.contains("Max-Age=0")), "{:?}", answer.text());
    let back = answer.field("Location").expect("a way back");
    let target = back.splitn(4, '/').nth(3).and_then(|rest| rest.split('#').next()).expect("a path");
    assert_eq!(format!("/{target}"), post, "the comment is approved immediately");
    let own = page(&server, &post);
    assert_eq!(own.cache(), "EXPIRED");
    assert!(own.text().contains(&words));
    assert_eq!(page(&server, &post).cache(), "HIT");
}
