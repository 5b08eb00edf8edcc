//! Fragments that the plugin cuts out of a page: a page composed of them equals the response of PHP for each visitor.
//!
//! Myriad's ESI is disabled here; the test inserts the fragments.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use myriad_tests::{Answer, Request, Server, Visitor, WordPress};

use super::{PREPARE, SHOWS, host, log_in, screenshot, seen};

/// Starts a site whose plugin receives the signal that fragments are inserted.
fn site() -> (WordPress, Server) {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/shows.php"), SHOWS).expect("a plugin");
    let server = site.serve_plugin_changed(|preset| {
        let told = preset
            .replace("Surrogate/1.0 tags/1", "Surrogate/1.0 ESI/1.0 tags/1")
            .replace("esi on;", "esi off;");
        assert!(told.contains("ESI/1.0"), "the preset sends the capabilities of Myriad");
        told
    });
    assert_eq!(site.run_php(&host(&server), PREPARE), "done");
    (site, server)
}

/// Returns a page as stored, with its markup.
fn stored(server: &Server, target: &str) -> Answer {
    let answer = server.fetch(&Request::get(target).host(&host(server)));
    assert_ne!(answer.cache(), "BYPASS", "{target}");
    answer
}

fn known(answer: &Answer) -> &str {
    answer.field("X-Myriad-ESI").unwrap_or_default()
}

/// Returns the names of the fragments of a page.
fn places(page: &str) -> BTreeSet<String> {
    let names = page.split("myriad-esi=").skip(1).filter_map(|rest| rest.split('"').next());
    names.map(str::to_owned).collect()
}

/// Returns the fragments of a visitor.
fn parts(visitor: &mut Visitor, names: &BTreeSet<String>) -> BTreeMap<String, String> {
    let list: Vec<_> = names.iter().map(String::as_str).collect();
    let answer = visitor.get(&format!("/?myriad-esi={}", list.join(",")));
    assert_eq!((answer.status, answer.field("Content-Type")), (200, Some("application/x-myriad-fragments")));
    assert!(answer.field("Cache-Control").is_some_and(|said| said.contains("private")));
    assert_eq!(answer.field("X-Content-Type-Options"), Some("nosniff"));
    let body = answer.content();
    let mut rest = body.as_slice();
    let mut found = BTreeMap::new();
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(&rest[..end]).into_owned();
        let words: Vec<_> = line.split(' ').collect();
        let length: usize = words[1].parse().expect("a length");
        let part = &rest[end + 1..end + 1 + length];
        assert_eq!(rest[end + 1 + length], b'\n', "{line}");
        found.insert(words[0].to_owned(), String::from_utf8_lossy(part).into_owned());
        rest = &rest[end + length + 2..];
    }
    found
}

/// Returns the stored page with the fragments of a visitor.
fn filled(page: &str, parts: &BTreeMap<String, String>) -> String {
    let mut pieces = page.split("<esi:include src=\"/?myriad-esi=");
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once('"').expect("a name");
        whole.push_str(&parts[name]);
        let (tag, mut rest) = rest.split_once('>').expect("the end of the tag");
        if !tag.ends_with('/') {
            rest = rest
                .split_once("</esi:include token=\"")
                .and_then(|(_, end)| end.split_once("\">"))
                .expect("the end of the token")
                .1;
        }
        whole.push_str(rest);
    }
    whole
}

/// Returns a visitor who has commented and whose browser has stored the name.
fn commenter(server: &Server) -> Visitor {
    let mut visitor = Visitor::new(server.port);
    let page = stored(server, "/salt-by-the-river/").text();
    let id = page
        .split("name='comment_post_ID' value='")
        .nth(1)
        .and_then(|rest| rest.split('\'').next())
        .expect("a form");
    let form = [
        ("comment", "Well \"said\"."),
        ("author", "Ada \"-->\" <b>"),
        ("email", "ada@example.org"),
        ("url", "http://ada.example.org/"),
        ("wp-comment-cookies-consent", "yes"),
        ("comment_post_ID", id),
    ];
    assert_eq!(visitor.post("/wp-comments-post.php", &form).status, 302);
    assert!(visitor.has_cookie("comment_author_"));
    visitor
}

#[test]
fn pages_with_a_visitors_parts_are_what_php_makes_for_them() {
    let (site, server) = site();
    let post = "/the-orchard-by-the-river/";
    let visitors = [
        ("reader", log_in(&server, "rita")),
        ("reader without a bar", log_in(&server, "nobar")),
        ("commenter", commenter(&server)),
        ("nobody", Visitor::new(server.port)),
    ];
    let mut shown = 0;
    for (who, mut visitor) in visitors {
        for target in ["/", post, "/about/", "/category/rivers/"] {
            let page = stored(&server, target);
            assert!(
                known(&page).starts_with("known, joint=myriad-esi, token="),
                "{target}: {}",
                known(&page)
            );
            let names = places(&page.text());
            let whole = filled(&page.text(), &parts(&mut visitor, &names));
            let made = if who == "nobody" {
                // An anonymous visitor receives a stored page, unless a cookie bypasses it.
                server.fetch(&Request::get(target).host(&host(&server)).field("Cookie", "NO_CACHE=1"))
            } else {
                visitor.get(target)
            };
            assert_eq!(made.cache(), "BYPASS", "{who} {target}");
            let made = made.text();
            assert!(!made.contains("esi:") && !whole.contains("esi:include"), "{who} {target}");
            let ((head, classes, body), (head_made, classes_made, body_made)) = (seen(&whole), seen(&made));
            assert_eq!((head, classes), (head_made, classes_made), "{who} {target}");
            assert_eq!(body, body_made, "{who} {target}");
            if (who, target) == ("reader", post) {
                assert!(
                    body.contains("Logged in as rita &amp; friends") && !body.contains("comment-form-author"),
                    "{body}"
                );
                shown += 1;
                assert_eq!(
                    screenshot(&site, &server, &whole, "cut"),
                    screenshot(&site, &server, &made, "made")
                );
            }
            if (who, target) == ("commenter", post) {
                assert!(
                    body.contains("value=\"ada@example.org\"") && body.contains(" value=\"yes\" checked"),
                    "{body}"
                );
                shown += 1;
            }
        }
    }
    assert_eq!(shown, 2);
}

#[test]
fn page_that_checks_visitor_identity_excludes_known_visitors_with_reason() {
    let (site, server) = site();
    for (target, why) in [
        ("/contact/", "is_user_logged_in in mu-plugins/shows.php:4"),
        ("/colophon/", "current_user_can( read ) in mu-plugins/shows.php:5"),
    ] {
        let page = stored(&server, target);
        let said = known(&page);
        assert!(
            said.starts_with("known, compared=") && said.contains(&format!(", why=\"{why}\", joint=")),
            "{said}"
        );
        assert!(!page.text().contains("mYr"), "{target}");
    }
    for (target, why) in [("/secret/", ""), ("/feed/", ""), ("/nothing-there/", "")] {
        let page = stored(&server, target);
        assert_eq!((known(&page), page.field("Surrogate-Control")), (why, None), "{target}");
        assert!(!page.text().contains("esi:") && !page.text().contains("mYr"), "{target}");
    }
    site.run_php(&host(&server), "update_option('comment_registration', 1);");
    let page = stored(&server, "/salt-by-the-river/");
    assert_eq!(known(&page), "why=\"only members may comment\"");
    assert!(page.text().contains("You must be <a href"));
    let harmless =
        "<?php add_filter('myriad_cache_harmless', fn ($all) => [...$all, 'mu-plugins/shows.php']);
        add_filter('myriad_cache_known', fn ($is_known) => $is_known && !is_page('about'));";
    fs::write(site.root().join("wp-content/mu-plugins/says.php"), harmless).expect("a plugin");
    site.run_php(&host(&server), "Myriad_Cache_Queue::add('s');");
    assert!(known(&stored(&server, "/contact/")).starts_with("known"));
    assert_eq!(known(&stored(&server, "/about/")), "why=\"the filter myriad_cache_known\"");
}

#[test]
fn editors_and_authors_of_waiting_comments_get_their_pages_from_php() {
    let (site, server) = site();
    let reader = log_in(&server, "rita");
    assert!(!reader.has_cookie("wordpress_no_cache"), "a reader is served from the cache");
    let mut visitor = site.log_in(&server);
    assert!(visitor.has_cookie("wordpress_no_cache"), "an administrator is not");
    let page = visitor.get("/wp-admin/profile.php").text();
    let link =
        page.split("action=logout").nth(1).and_then(|rest| rest.split("_wpnonce=").nth(1)).expect("a link");
    let link: String = link.chars().take_while(char::is_ascii_alphanumeric).collect();
    let out = visitor.get(&format!("/wp-login.php?action=logout&_wpnonce={link}"));
    assert!(out.all("Set-Cookie").any(|cookie| cookie.starts_with("wordpress_no_cache=deleted")), "{out:?}");
    // A logout redirects back to the page.
    let mut reader = log_in(&server, "rita");
    let names = ["log-out-back".to_owned()].into();
    let link = parts(&mut reader, &names)["log-out-back"].clone();
    let link = link.split("href=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a link");
    let target = link.replace("&#038;", "&").replace("&amp;", "&");
    let target = target.strip_prefix(&format!("http://{}", host(&server))).expect("a link of this site");
    let page = format!("http://{}/about/", host(&server));
    let out = reader.fetch(Request::get(target).field("Referer", &page));
    assert_eq!((out.status, out.field("Location")), (302, Some(page.as_str())));

    site.run_php(&host(&server), "update_option('comment_moderation', 1);");
    let mut visitor = Visitor::new(server.port);
    let page = stored(&server, "/salt-by-the-river/").text();
    let id = page
        .split("name='comment_post_ID' value='")
        .nth(1)
        .and_then(|rest| rest.split('\'').next())
        .expect("a form");
    let comment = [
        ("comment", "Perhaps."),
        ("author", "Bo"),
        ("email", "bo@example.org"),
        ("wp-comment-cookies-consent", "yes"),
        ("comment_post_ID", id),
    ];
    let answer = visitor.post("/wp-comments-post.php", &comment);
    let cookie = answer.all("Set-Cookie").find(|cookie| cookie.starts_with("wordpress_no_cache=1"));
    assert!(cookie.is_some_and(|cookie| cookie.contains("path=/salt-by-the-river/")), "{answer:?}");
}

#[test]
fn parts_are_of_those_that_pages_name_and_escaped() {
    let (site, server) = site();
    let mut reader = log_in(&server, "rita");
    let names = places(&stored(&server, "/about/").text());
    let nonce = names.iter().find(|name| name.starts_with("n.")).expect("the place of a nonce").clone();
    let forged = format!("{}0", &nonce[..nonce.len() - 1]);
    let other = if forged == nonce { format!("{}1", &nonce[..nonce.len() - 1]) } else { forged };
    let asked = [nonce.clone(), other, "n.dm90ZQ.".to_owned(), "else".to_owned()].into();
    let found = parts(&mut reader, &asked);
    assert_eq!(found.keys().collect::<Vec<_>>(), [&nonce]);
    let mut nobody = Visitor::new(server.port);
    assert_ne!(parts(&mut nobody, &asked)[&nonce], found[&nonce], "sessions have different nonces");
    let hash = site.run_php(&host(&server), "echo COOKIEHASH;");
    let answer = server.fetch(&Request::get("/?myriad-esi=commenter-name").host(&host(&server)).field(
        "Cookie",
        &format!("comment_author_{hash}=%22%3E%3Cscript%3E; comment_author_email_{hash}=a@b.c"),
    ));
    assert!(!answer.text().contains("<script>"), "{}", answer.text());
    assert_eq!(answer.cache(), "BYPASS");
}

/// Plugin that shows the admin bar to all visitors, as BuddyPress does, and has a style that WordPress prints before that of the bar.
const BAR_FOR_ALL: &str = r"<?php
add_filter('show_admin_bar', '__return_true');
add_action('wp_head', function () {
    wp_register_style('first-of-all', false);
    wp_enqueue_style('first-of-all');
    wp_add_inline_style('first-of-all', 'p { margin: 1em 0 }');
    array_unshift(wp_styles()->queue, array_pop(wp_styles()->queue));
}, 0);
";

/// Returns the names of the styles of a page, in their order.
fn styles(page: &str) -> Vec<String> {
    let tags =
        page.split('<').filter(|tag| tag.starts_with("style ") || tag.starts_with("link rel='stylesheet'"));
    let names = tags.filter_map(|tag| tag.split(" id=").nth(1)?.split(['"', '\'']).nth(1));
    names.map(str::to_owned).collect()
}

#[test]
fn bar_for_all_visitors_changes_neither_order_of_styles_nor_classes() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/bar.php"), BAR_FOR_ALL).expect("a plugin");
    let server = site.serve_with_plugin();
    assert_eq!(site.run_php(&host(&server), PREPARE), "done");
    stored(&server, "/about/");
    let made = server.fetch(&Request::get("/about/").host(&host(&server)).field("Cookie", "NO_CACHE=1"));
    let page = stored(&server, "/about/");
    assert_eq!((page.cache(), made.cache()), ("HIT", "BYPASS"));
    let expected = styles(&made.text());
    assert!(expected.contains(&"admin-bar-css".to_owned()), "{expected:?}");
    assert_eq!(styles(&page.text()), expected);
    let mut reader = log_in(&server, "rita");
    reader.get("/about/");
    let page = reader.get("/about/").text();
    let body = page.split("<body").nth(1).and_then(|rest| rest.split('>').next()).expect("a body").to_owned();
    assert!(body.contains("logged-in") && body.matches("admin-bar").count() == 1, "{body}");
}

/// Function of Polylang for the home page in the language of a page.
const LANGUAGES: &str = r"<?php
function pll_home_url() {
    return home_url(0 === strpos($_SERVER['REQUEST_URI'], '/about/') ? '/de/' : '/');
}
";

#[test]
fn parts_are_requested_from_the_home_page_in_the_language_of_the_page() {
    let (site, server) = site();
    fs::write(site.root().join("wp-content/mu-plugins/languages.php"), LANGUAGES).expect("a plugin");
    assert!(stored(&server, "/about/").text().contains("<esi:include src=\"/de/?myriad-esi="));
    assert!(stored(&server, "/").text().contains("<esi:include src=\"/?myriad-esi="));
}
