//! Myriad plugin in a real WordPress: every change is visible on the next request, and no other page is fetched again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use myriad_tests::{Answer, Php, Place, Request, Server, WordPress, binary, wait_patiently_for};

/// Maximum number of pages that are checked, because PHP generates all of them after each change.
const MOST_PAGES: usize = 90;

/// Elements for which a block theme has no position: a menu below single posts, widgets below lists.
const PARTS: &str = "<?php
    add_action('after_setup_theme', function () { register_nav_menus(['below' => 'Below']); });
    add_action('widgets_init', function () { register_sidebar(['id' => 'below', 'name' => 'Below']); });
    add_filter('use_widgets_block_editor', '__return_false');
    add_action('wp_footer', function () {
        if (is_single()) wp_nav_menu(['menu' => 'Test menu', 'fallback_cb' => '__return_false']);
        if (is_home()) dynamic_sidebar('below');
    });";

/// Preparation of the site before the crawl.
const PREPARE: &str = "$menu = wp_create_nav_menu('Test menu');
    wp_update_nav_menu_item($menu, 0, ['menu-item-title' => 'Somewhere', 'menu-item-url' => 'http://example.org/', 'menu-item-status' => 'publish']);
    update_option('widget_text', [2 => ['title' => 'Words', 'text' => 'of a widget'], '_multiwidget' => 1]);
    update_option('sidebars_widgets', ['below' => ['text-2'], 'wp_inactive_widgets' => [], 'array_version' => 3]);
    // Comments of one second come in any order.
    $GLOBALS['wpdb']->query('UPDATE wp_comments SET comment_date = comment_date + INTERVAL comment_ID SECOND, \
        comment_date_gmt = comment_date_gmt + INTERVAL comment_ID SECOND');
    // The pages of the posts that change, whose age is counted once more after the first one is published.
    foreach ([2, 3, 4, 5, 7, 8, 12, 13, 15, 16, 19, 20, 24, 25, 29, 30, 34, 35, 39, 40] as $n) {
        echo parse_url(get_permalink(get_posts(['numberposts' => 1, 'offset' => $n])[0]->ID), PHP_URL_PATH), ' ';
    }";

/// Function that returns a post by its age: 0 is the newest.
const POST: &str = "$nth = fn ($n) => get_posts(['numberposts' => 1, 'offset' => $n])[0]->ID;";

/// Changes in order, each in a separate process.
const CHANGES: &[(&str, &str)] = &[
    (
        "publish",
        "wp_insert_post(['post_title' => 'A new post', 'post_name' => 'a-new-post', 'post_content' => 'New words.', \
                 'post_status' => 'publish', 'post_category' => [get_cat_ID('Rivers')]]);",
    ),
    (
        "edit",
        "wp_update_post(['ID' => $nth(20), 'post_title' => 'Another title', 'post_content' => 'Other words.']);",
    ),
    (
        "edit a page that a menu names",
        "wp_update_post(['ID' => get_page_by_path('about')->ID, 'post_content' => 'Other words about it.']);",
    ),
    (
        "rename a page that a menu names",
        "wp_update_post(['ID' => get_page_by_path('about')->ID, 'post_title' => 'About it']);",
    ),
    ("rename its address", "wp_update_post(['ID' => $nth(8), 'post_name' => 'another-address']);"),
    (
        "schedule",
        "wp_insert_post(['post_title' => 'Of tomorrow', 'post_name' => 'of-tomorrow', 'post_content' => 'Later words.', \
                  'post_status' => 'future', 'post_date' => gmdate('Y-m-d H:i:s', time() + 86400)]);",
    ),
    (
        "publish what was scheduled",
        // The SQL simulates that time passes: the plugin must not observe it.
        "$id = get_posts(['post_status' => 'future'])[0]->ID; $now = gmdate('Y-m-d H:i:s', time() - 1); remove_all_filters('query'); \
        $GLOBALS['wpdb']->update('wp_posts', ['post_date' => $now, 'post_date_gmt' => $now], ['ID' => $id]); clean_post_cache($id); \
        check_and_publish_future_post($id);",
    ),
    ("unpublish", "wp_update_post(['ID' => $nth(30), 'post_status' => 'draft']);"),
    ("trash", "wp_trash_post($nth(40));"),
    ("take back from the trash", "wp_untrash_post(get_posts(['post_status' => 'trash'])[0]->ID);"),
    ("set a password", "wp_update_post(['ID' => $nth(16), 'post_password' => 'secret']);"),
    ("make private", "wp_update_post(['ID' => $nth(13), 'post_status' => 'private']);"),
    ("delete", "wp_delete_post($nth(25), true);"),
    (
        "comment",
        "wp_insert_comment(['comment_post_ID' => $nth(3), 'comment_author' => 'Ada', 'comment_author_email' => 'ada@example.org', 'comment_content' => 'Well said.', \
                 'comment_approved' => 1]);",
    ),
    (
        "comment that waits",
        "wp_insert_comment(['comment_post_ID' => $nth(4), 'comment_author' => 'Bruno', 'comment_author_email' => 'bruno@example.org', \
                            'comment_content' => 'Perhaps.', 'comment_approved' => 0]);",
    ),
    ("approve", "wp_set_comment_status(get_comments(['status' => 'hold'])[0]->comment_ID, 'approve');"),
    (
        "mark a comment as spam",
        "wp_set_comment_status(get_comments(['status' => 'approve'])[0]->comment_ID, 'spam');",
    ),
    (
        "delete a comment",
        "wp_delete_comment(get_comments(['status' => 'approve', 'offset' => 2])[0]->comment_ID, true);",
    ),
    ("rename a term", "wp_update_term(get_cat_ID('Kitchens'), 'category', ['name' => 'Cooking']);"),
    ("change a term's address", "wp_update_term(get_cat_ID('Gardens'), 'category', ['slug' => 'plants']);"),
    ("give a post another term", "wp_set_post_tags($nth(5), ['a new tag'], true);"),
    ("delete a term", "wp_delete_term(get_term_by('name', 'a new tag', 'post_tag')->term_id, 'post_tag');"),
    (
        "change a menu",
        "$menu = wp_get_nav_menu_object('Test menu')->term_id; wp_update_nav_menu_item($menu, 0, \
                       ['menu-item-title' => 'Elsewhere', 'menu-item-url' => 'http://example.net/', 'menu-item-status' => 'publish']);",
    ),
    (
        "change a widget",
        "update_option('widget_text', [2 => ['title' => 'Words', 'text' => 'changed'], '_multiwidget' => 1]);",
    ),
    (
        "change a template part",
        "$id = wp_insert_post(['post_type' => 'wp_template_part', 'post_name' => 'comments', 'post_title' => 'Comments', \
        'post_content' => '<!-- wp:paragraph --><p>No comments here.</p><!-- /wp:paragraph -->', 'post_status' => 'publish', \
        'tax_input' => ['wp_theme' => ['twentytwentythree']]]); wp_set_object_terms($id, 'twentytwentythree', 'wp_theme'); wp_set_object_terms($id, 'uncategorized', 'wp_template_part_area');",
    ),
    (
        "change a template",
        "$id = wp_insert_post(['post_type' => 'wp_template', 'post_name' => 'page', 'post_title' => 'Page', \
        'post_content' => '<!-- wp:post-title /--><!-- wp:post-content /-->', 'post_status' => 'publish']); \
        wp_set_object_terms($id, 'twentytwentythree', 'wp_theme');",
    ),
    ("change an author's name", "wp_update_user(['ID' => 1, 'display_name' => 'The Editor']);"),
    ("change the tagline", "update_option('blogdescription', 'Other words below the name');"),
    ("change the name", "update_option('blogname', 'Another name');"),
    (
        "add a page",
        "wp_insert_post(['post_type' => 'page', 'post_title' => 'Imprint', 'post_content' => 'Words.', 'post_status' => 'publish']);",
    ),
    ("make sticky", "stick_post($nth(35));"),
    ("switch the theme", "switch_theme('other');"),
];

/// Page as received by a visitor.
#[derive(Clone, PartialEq, Eq)]
struct Seen {
    status: u16,
    body: Vec<u8>,
}

struct Crawl<'a> {
    server: &'a Server,
    host: String,
    targets: BTreeSet<String>,
}

impl Crawl<'_> {
    /// Returns a page as PHP generates it now: the cookie bypasses the cache, and changes nothing in the page.
    fn uncached(&self, target: &str) -> Seen {
        let answer = self.server.fetch(&Request::get(target).host(&self.host).field("Cookie", "NO_CACHE=1"));
        let said =
            || format!("{target}: {} {}\n{}", answer.status, answer.text(), self.server.read("error.log"));
        assert_eq!(answer.cache(), "BYPASS", "{}", said());
        Seen { status: answer.status, body: answer.content() }
    }

    /// Requests each page, four concurrently.
    fn each<T: Send>(&self, ask: impl Fn(&str) -> T + Sync) -> BTreeMap<String, T> {
        let targets: Vec<&String> = self.targets.iter().collect();
        std::thread::scope(|scope| {
            let ask = &ask;
            let of_part = |part: &[&String]| -> Vec<(String, T)> {
                part.iter().map(|target| ((*target).clone(), ask(target))).collect()
            };
            let parts = targets.chunks(targets.len().div_ceil(4));
            let threads: Vec<_> = parts.map(|part| scope.spawn(move || of_part(part))).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("pages")).collect()
        })
    }

    fn all_uncached(&self) -> BTreeMap<String, Seen> {
        self.each(|target| self.uncached(target))
    }

    fn shared(&self, target: &str) -> Answer {
        self.server.fetch(&Request::get(target).host(&self.host))
    }

    /// Finds pages by their links, beginning with `seeds`.
    fn follow(&mut self, seeds: &[&str]) {
        let mut queue: Vec<String> = seeds.iter().map(|seed| (*seed).to_owned()).collect();
        let mut next = 0;
        while let Some(target) = queue.get(next).cloned() {
            next += 1;
            if self.targets.len() >= MOST_PAGES || !self.targets.insert(target.clone()) {
                continue;
            }
            let text = self.shared(&target).text();
            queue.extend(self.links(&text));
        }
    }

    /// Returns the targets of this site in a page, without uncacheable targets.
    fn links(&self, text: &str) -> Vec<String> {
        let origin = format!("http://{}/", self.host);
        let links = text
            .split(&origin)
            .skip(1)
            .map(|rest| rest.split(['"', '\'', '<', '#', ' ', '?', '\\']).next().unwrap_or_default());
        let pages = links.filter(|path| !path.starts_with("wp-") || path.starts_with("wp-sitemap"));
        pages.filter(|path| !path.contains("xmlrpc")).map(|path| format!("/{path}")).collect()
    }

    /// Requests every page, so that it is stored.
    fn warm(&self) {
        self.each(|target| self.shared(target).status);
    }

    /// Compares the responses to visitors with those of PHP; `before` are the responses of PHP before the change.
    fn check(
        &self,
        change: &str,
        before: &BTreeMap<String, Seen>,
        after: &BTreeMap<String, Seen>,
    ) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut changed = 0;
        let shared = self.each(|target| self.shared(target));
        for (target, now) in after {
            let answer = &shared[target];
            let cache = answer.cache().to_owned();
            if answer.status != now.status || answer.content() != now.body {
                wrong.push(format!("{change}: {target} is old ({cache})"));
            }
            let is_same = before.get(target) == Some(now);
            changed += usize::from(!is_same);
            if is_same && now.status == 200 && cache != "HIT" {
                wrong.push(format!("{change}: {target} was purged ({cache})"));
            }
        }
        println!("{change}: {changed} of {} pages", after.len());
        wrong
    }
}

/// Creates a theme with small differences.
fn other_theme(site: &WordPress) {
    let folder = site.root().join("wp-content/themes/other");
    fs::create_dir_all(&folder).expect("folder");
    fs::write(folder.join("style.css"), "/*\nTheme Name: Other\nTemplate: twentytwentythree\n*/")
        .expect("style");
    fs::write(
        folder.join("functions.php"),
        "<?php add_action('wp_footer', function () { echo '<p>another theme</p>'; });",
    )
    .expect("functions");
}

#[test]
fn every_change_shows_at_once_and_no_other_page_is_purged() {
    let site = WordPress::alone();
    other_theme(&site);
    fs::write(site.root().join("wp-content/mu-plugins/parts.php"), PARTS).expect("a plugin");
    let server = site.serve_with_plugin();
    let host = format!("127.0.0.1:{}", server.port);
    let changing = site.run_php(&host, PREPARE);
    assert_eq!(changing.split_whitespace().filter(|path| path.starts_with('/')).count(), 20, "{changing}");
    let mut crawl = Crawl { server: &server, host: host.clone(), targets: BTreeSet::new() };
    let seeds = [
        "/",
        "/feed/",
        "/comments/feed/",
        "/wp-sitemap.xml",
        "/about/",
        "/category/rivers/",
        "/category/kitchens/",
        "/author/admin/",
        "/author/admin/page/4/",
        "/page/2/",
        "/page/3/",
        "/page/7/",
        "/page/10/",
        "/category/gardens/feed/",
        "/2026/",
        "/2026/03/",
    ];
    crawl.follow(&[&seeds[..], &changing.split_whitespace().collect::<Vec<_>>()].concat());
    assert!(crawl.targets.len() > 60, "{:?}", crawl.targets);
    crawl.warm();
    let mut before = crawl.all_uncached();
    let mut wrong = crawl.check("nothing", &before, &before);
    for (name, code) in CHANGES {
        site.run_php(&host, &format!("{POST} {code}"));
        let after = crawl.all_uncached();
        let found = crawl.check(name, &before, &after);
        // The functions of a theme may change feeds and sitemaps as well; with sticky posts, lists are purged
        // completely.
        let is_wide = matches!(*name, "make sticky" | "switch the theme");
        wrong.extend(found.into_iter().filter(|text| !is_wide || text.contains("is old")));
        let again = crawl.check(&format!("{name}, again"), &after, &after);
        wrong.extend(again.into_iter().filter(|text| text.ends_with("is old (HIT)")));
        before = after;
    }
    assert!(!server.read("error.log").contains("PHP message"), "PHP complains");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// All requests are answered from the cache.
#[test]
fn a_scheduled_post_shows_when_it_is_due() {
    let site = WordPress::alone();
    let server = site.serve_with_plugin();
    let host = format!("127.0.0.1:{}", server.port);
    let home = || server.fetch(&Request::get("/").host(&host)).text();
    assert!(!home().contains("When it is due"));
    let code = "wp_insert_post(['post_title' => 'When it is due', 'post_status' => 'future', \
                'post_date' => gmdate('Y-m-d H:i:s', time() + 2)]);";
    site.run_php(&host, code);
    wait_patiently_for("the scheduled post", Duration::from_mins(1), || home().contains("When it is due"));
}

/// Returns the response of a site's API to a request with a secret.
fn ask(socket: &Path, zone: &str, secret: &str, body: &str) -> String {
    let mut stream = UnixStream::connect(socket).expect("the socket of the plugin");
    write!(
        stream,
        "POST /{zone}/purge HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {secret}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// Returns the secret in the plugin's file.
fn secret_of(place: &Place, site: &str) -> String {
    let file = place.read(&format!("{site}/wp-content/plugins/myriad-cache/connection.php"));
    let secret = file.split("'secret' => '").nth(1).and_then(|rest| rest.split('\'').next());
    secret.expect("a secret").to_owned()
}

#[test]
fn a_site_of_many_purges_no_other_one() {
    let mut place = Place::new();
    for site in ["one", "two"] {
        place.write(
            &format!("{site}/index.php"),
            "<?php header('Surrogate-Key: all'); echo $_SERVER['HTTP_HOST'], str_repeat(' words', 100);",
        );
        for name in ["wp-config.php", "wp-includes/version.php", "wp-admin/index.php", "wp-content/index.php"]
        {
            place.write(&format!("{site}/{name}"), "<?php");
        }
    }
    let php = Php::start(&mut place);
    let command = |place: &Place| {
        let mut command = Command::new(binary());
        command.arg("wordpress").arg("--prefix").arg(place.folder());
        for site in ["one", "two"] {
            command.args(["--site", &place.fill(&format!("{site}.test @DIR@/{site} @PHP@"))]);
        }
        command
    };
    let installed = command(&place).arg("--install-plugin").output().expect("myriad starts");
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    let mut serving = command(&place);
    serving.args(["--listen", &place.fill("127.0.0.1:@PORT@")]);
    let server = Server::run(place, serving);
    let cache =
        |site: &str| server.fetch(&Request::get("/").host(&format!("{site}.test"))).cache().to_owned();
    for site in ["one", "two"] {
        assert_eq!((cache(site).as_str(), cache(site).as_str()), ("MISS", "HIT"), "{site}");
    }
    for (method, target) in [("PURGE", "/"), ("PURGE", "/*"), ("PURGE", "/purgeall"), ("GET", "/purge/")] {
        let answer = server.fetch(&Request::new(method, target).host("one.test"));
        assert_eq!(answer.status, 403, "{method} {target}");
    }
    let (socket, own, foreign) =
        (server.path("plugins/plugin.sock"), secret_of(&server, "one"), secret_of(&server, "two"));
    for (secret, body) in [
        (foreign.as_str(), "{\"all\":true}"),
        ("", "{\"all\":true}"),
        (own.as_str(), "{\"all\":true,\"zone\":\"two.test\"}"),
    ] {
        assert!(ask(&socket, "one.test", secret, body).starts_with("HTTP/1.1 403"), "{body}");
    }
    assert_eq!((cache("one").as_str(), cache("two").as_str()), ("HIT", "HIT"));
    let answer = ask(
        &socket,
        "one.test",
        &own,
        "{\"tags\":[\"all\"],\"urls\":[\"http://two.test/\"],\"invalidate\":true}",
    );
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!((cache("one").as_str(), cache("two").as_str()), ("EXPIRED", "HIT"));
    drop(php);
}
