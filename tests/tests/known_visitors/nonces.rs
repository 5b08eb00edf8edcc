//! Nonces in shared pages: each visitor receives a valid nonce, and the author of a text cannot inject a reader's nonce
//! into a link.

use std::fs;

use myriad_tests::{Answer, Request, Server, WordPress};

use super::host;
use super::visitors::{readers, served, site};

/// Plugin with nonces in every position: early, in the page, in a transient, in a redirect, in a response that is not a
/// page.
const PLUGIN: &str = r#"<?php
    add_action('init', function () {
        $GLOBALS['early'] = wp_create_nonce('early');
        if (isset($_GET['plain'])) { echo 'pl', $GLOBALS['early'], 'ain ', wp_create_nonce('vote'); exit; }
    });
    add_action('wp_footer', function () {
        echo '<p data-vote="', wp_create_nonce('vote'), '"></p><script>early = "', $GLOBALS['early'], '"</script>';
        if (is_page('about')) echo '<a href="https://elsewhere.example/?n=', wp_create_nonce('out'), '">Out</a>';
        if (false === get_transient('kept_html')) set_transient('kept_html', ['html' => '<i data-kept="' . wp_create_nonce('kept') . '"></i>'], 600);
        echo get_transient('kept_html')['html'], '<b data-verified="', wp_verify_nonce(wp_create_nonce('own'), 'own'),
            wp_verify_nonce($_GET['proof'] ?? '', 'vote') ? ' proven' : '', '"></b>';
    });
    add_action('template_redirect', function () {
        if (isset($_GET['leave'])) { wp_redirect('/?to=' . wp_create_nonce('vote')); exit; }
    });"#;

/// Returns the letters and digits that follow a word in a page.
fn after(page: &str, word: &str) -> String {
    let rest = page.split(word).nth(1).unwrap_or_else(|| panic!("{word} in {page}"));
    rest.chars().take_while(char::is_ascii_alphanumeric).collect()
}

fn shared(server: &Server, target: &str) -> Answer {
    server.fetch(&Request::get(target).host(&host(server)))
}

/// Returns the nonce of anonymous visitors for an action, as WordPress computes it without the marks of the plugin.
fn anonymous(site: &WordPress, server: &Server, action: &str) -> String {
    site.run_php(&host(server), &format!("wp_set_current_user(0); echo wp_create_nonce('{action}');"))
}

#[test]
fn nonce_in_a_comments_link_stays_the_anonymous_one_on_a_readers_page() {
    let (site, server) = site();
    fs::write(site.root().join("wp-content/mu-plugins/nonces.php"), PLUGIN).expect("a plugin");
    let target = "/the-orchard-by-the-river/";
    let vote = anonymous(&site, &server, "vote");
    // The attacker reads the nonce in the page and writes it into a link of a comment.
    assert_eq!(after(&shared(&server, target).text(), "data-vote=\""), vote);
    let comment = format!(
        "wp_insert_comment(['comment_post_ID' => url_to_postid('{target}'), 'comment_author' => 'Eve', 'comment_approved' => 1, \
         'comment_author_url' => 'https://evil.example/by-{vote}', \
         'comment_content' => '<a href=\"https://evil.example/collect?n={vote}\">Read this</a> {vote}']);"
    );
    site.run_php(&host(&server), &comment);
    let page = shared(&server, target).text();
    assert!(page.contains(&format!("https://evil.example/collect?n={vote}")), "{page}");
    for cookie in readers(&site, &server, 2) {
        let answer = served(&server, &cookie, target);
        let page = answer.text();
        assert_eq!(answer.cache(), "HIT", "{:?}", answer.fields);
        let own = after(&page, "data-vote=\"");
        assert_ne!(own, vote, "each reader has a different nonce");
        assert_eq!(page.matches(&own).count(), 1, "{page}");
        for link in
            [format!("https://evil.example/collect?n={vote}"), format!("https://evil.example/by-{vote}")]
        {
            assert!(page.contains(&link), "{link}: {page}");
        }
    }
}

#[test]
fn every_nonce_is_valid_for_visitor_that_gets_it() {
    let (site, server) = site();
    fs::write(site.root().join("wp-content/mu-plugins/nonces.php"), PLUGIN).expect("a plugin");
    let target = "/the-orchard-by-the-river/";
    let nonce = |action: &str| anonymous(&site, &server, action);
    let page = shared(&server, target).text();
    for (word, action) in [("data-vote=\"", "vote"), ("early = \"", "early")] {
        assert_eq!(after(&page, word), nonce(action), "{action}");
    }
    assert!(page.contains("data-verified=\"1\""), "a page verifies its own nonce: {page}");
    // Later requests print HTML from a transient.
    for target in [target, "/salt-by-the-river/", "/"] {
        assert_eq!(after(&shared(&server, target).text(), "data-kept=\""), nonce("kept"), "{target}");
    }
    // A valid nonce of a visitor is verified while a page is generated.
    let proof = shared(&server, &format!("{target}?proof={}", nonce("vote"))).text();
    assert!(proof.contains("data-verified=\"1 proven\""), "{proof}");
    let plain = shared(&server, "/?plain=1").text();
    assert_eq!(plain, format!("pl{}ain {}", nonce("early"), nonce("vote")));
    let redirect = shared(&server, "/?leave=1");
    assert_eq!(redirect.field("Location"), Some(format!("/?to={}", nonce("vote")).as_str()));

    let reader = readers(&site, &server, 1).remove(0);
    let page = served(&server, &reader, target);
    assert_eq!(page.cache(), "HIT");
    for (word, action) in [("data-vote=\"", "vote"), ("early = \"", "early")] {
        let check = format!(
            "wp_set_current_user(get_user_by('login', 'reader100')->ID); $_COOKIE[LOGGED_IN_COOKIE] = rawurldecode('{}'); \
             echo wp_verify_nonce('{}', '{action}');",
            reader.split_once('=').expect("a cookie").1,
            after(&page.text(), word)
        );
        assert_eq!(site.run_php(&host(&server), &check), "1", "{action}");
    }
    // A plugin's link to another host contains no reader's nonce: readers receive this page from PHP.
    assert_eq!(after(&shared(&server, "/about/").text(), "elsewhere.example/?n="), nonce("out"));
    let why = served(&server, &reader, "/about/");
    let why = why.field("Cache-Status").unwrap_or_default();
    assert!(why.contains("a nonce outside of scripts"), "{why}");
}

#[test]
fn places_of_nonces_that_send_them_to_another_host_are_recognised() {
    let (site, server) = site();
    let cases = [
        (r#"<input value="MARK">"#, true),
        (r#"<input value='a"b MARK'>"#, true),
        (r"<input value=MARK>", true),
        (r#"<div data-all='{"nonce":"MARK","x":1}'>"#, true),
        (r#"<a onclick="go('MARK')">"#, true),
        (r#"<a href="/wp-login.php?action=x&amp;_wpnonce=MARK">"#, true),
        (r#"<a href="http://HOST/?_wpnonce=MARK">"#, true),
        (r#"<a href="?_wpnonce=MARK">"#, true),
        (r#"<script>var a = {"nonce":"MARK"}; if (1 < 2) b("MARK")</script>"#, true),
        (r#"<script type="application/json">{"nonce":"MARK"}</script>"#, true),
        (r#"<script src="/a.js?n=MARK"></script>"#, true),
        (r#"<script src="https://elsewhere.example/a.js?n=MARK"></script>"#, false),
        (r#"<script>1</script><a href="https://elsewhere.example/?n=MARK">"#, false),
        (r#"<a href="//elsewhere.example/?n=MARK">"#, false),
        (r#"<a href="/\elsewhere.example/?n=MARK">"#, false),
        (r#"<a href="htt&#112;s://elsewhere.example/?n=MARK">"#, false),
        ("<a href=\" h\nttps://HOST@elsewhere.example/?n=MARK\">", false),
        (r#"<a href="mailto:a@b.example?body=MARK">"#, false),
        (r"<img src='https://elsewhere.example/MARK.png'>", false),
        (r"<img src=https://elsewhere.example/MARK>", false),
        (r#"<p style="background: url(https://elsewhere.example/MARK)">"#, false),
        (r#"<p class="x">Your code is MARK</p>"#, false),
        (r#"<p class="x">It's a="b" MARK</p>"#, false),
    ];
    let is_safe = |page: &str| {
        let code = format!(
            "$page = <<<'PAGE'\n{page}\nPAGE;\n $is_safe = true; \
             for ($at = strpos($page, '0a1b2c3d4e'); false !== $at; $at = strpos($page, '0a1b2c3d4e', $at + 1)) \
             $is_safe = $is_safe && Myriad_Cache_Nonces::is_safe($page, $at); echo var_export($is_safe, true);"
        );
        site.run_php(&host(&server), &code)
    };
    for (page, expected) in cases {
        let page = page.replace("HOST", "127.0.0.1").replace("MARK", "0a1b2c3d4e");
        assert_eq!(is_safe(&page), expected.to_string(), "{page}");
    }
    let long = format!("<a href=\"https://elsewhere.example/?a={}&amp;n=0a1b2c3d4e\">", "x".repeat(30_000));
    assert_eq!(is_safe(&long), "false", "a long attribute");
}
