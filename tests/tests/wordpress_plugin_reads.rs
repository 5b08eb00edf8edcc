//! Pages whose plugins and themes read posts, users, terms and comments with any function: a change purges the pages
//! that show it.

use std::fs;

use myriad_tests::{Request, Server, WordPress};

const HOST: &str = "site.test";

/// Code for the shortcode of a page, and a change that is visible on this page.
struct Case {
    name: &'static str,
    code: &'static str,
    change: &'static str,
}

const fn case(name: &'static str, code: &'static str, change: &'static str) -> Case {
    Case { name, code, change }
}

/// Cases. `$ids` are 20 posts from old to new, `$list` prints the titles of the posts of a query.
const CASES: &[Case] = &[
    case(
        "last-updated",
        "return $list(['orderby' => 'modified']);",
        "wp_update_post(['ID' => $ids[0], 'post_content' => 'edited']);",
    ),
    case(
        "by-field",
        "return $list(['meta_key' => 'featured', 'meta_value' => '1']);",
        "update_post_meta($ids[1], 'featured', '1');",
    ),
    case(
        "by-order-of-field",
        "return $list(['post_type' => 'event', 'meta_query' => ['day' => ['key' => 'day', 'value' => '2026-01-01', 'compare' => '>=']], 'orderby' => ['day' => 'ASC']]);",
        "update_post_meta(get_posts(['post_type' => 'event'])[0]->ID, 'day', '2025-01-01');",
    ),
    case(
        "by-title-in-a-block",
        "return do_blocks('<!-- wp:latest-posts {\"postsToShow\":3,\"order\":\"asc\",\"orderBy\":\"title\"} /-->');",
        "wp_update_post(['ID' => $ids[2], 'post_title' => '0 first']);",
    ),
    case(
        "search",
        "return $list(['s' => 'rarely-used-word']);",
        "wp_update_post(['ID' => $ids[2], 'post_content' => 'a rarely-used-word']);",
    ),
    case(
        "by-comments",
        "return $list(['orderby' => 'comment_count', 'order' => 'DESC']);",
        "foreach (range(1, 40) as $n) wp_insert_comment(['comment_post_ID' => $ids[3], 'comment_content' => \"$n\", 'comment_approved' => 1]);",
    ),
    case(
        "pages-by-menu-order",
        "return implode(',', wp_list_pluck(get_pages(['sort_column' => 'menu_order', 'sort_order' => 'DESC', 'number' => 1]), 'post_name'));",
        "wp_update_post(['ID' => get_page_by_path('case-team')->ID, 'menu_order' => 9]);",
    ),
    case(
        "title-of-post-object",
        "return get_post($ids[4])->post_title;",
        "wp_update_post(['ID' => $ids[4], 'post_title' => 'Renamed']);",
    ),
    case(
        "field-of-post",
        "return get_post_meta($ids[5], 'price', true);",
        "update_post_meta($ids[5], 'price', '12');",
    ),
    case(
        "sql-of-one-post",
        "global $wpdb; return $wpdb->get_var(\"SELECT post_title FROM {$wpdb->posts} WHERE ID = {$ids[6]}\");",
        "wp_update_post(['ID' => $ids[6], 'post_title' => 'Renamed']);",
    ),
    case(
        "sql-of-posts",
        "global $wpdb; return implode(',', $wpdb->get_col(\"SELECT post_title FROM {$wpdb->posts} p JOIN {$wpdb->postmeta} m ON m.post_id = p.ID WHERE m.meta_key = 'rank' ORDER BY m.meta_value\"));",
        "update_post_meta($ids[7], 'rank', '1');",
    ),
    case(
        "name-of-term-object",
        "return get_term_by('slug', 'rivers', 'category')->name . get_term(get_cat_ID('Deserts'))->name;",
        "$term = get_term_by('slug', 'rivers', 'category'); wp_update_term($term->term_id, 'category', ['name' => 'Streams']);",
    ),
    case(
        "field-of-term",
        "return get_term_meta(get_term_by('slug', 'rivers', 'category')->term_id, 'colour', true);",
        "update_term_meta(get_term_by('slug', 'rivers', 'category')->term_id, 'colour', 'blue');",
    ),
    case(
        "terms-by-description",
        "return implode(',', wp_list_pluck(get_terms(['taxonomy' => 'category', 'orderby' => 'description', 'order' => 'DESC', 'number' => 1]), 'slug'));",
        "wp_update_term(get_term_by('slug', 'rivers', 'category')->term_id, 'category', ['description' => 'zzz']);",
    ),
    case(
        "local-avatar",
        "return get_avatar(1, 20);",
        "update_user_meta(1, 'local_avatar', 'http://site.test/me.png');",
    ),
    case(
        "name-of-user-object",
        "return get_userdata(1)->display_name;",
        "wp_update_user(['ID' => 1, 'display_name' => 'The Owner']);",
    ),
    case(
        "contact-of-user",
        "return get_the_author_meta('fediverse', 1);",
        "update_user_meta(1, 'fediverse', '@owner');",
    ),
    case(
        "team",
        "return implode(', ', wp_list_pluck(get_users(['role__in' => ['administrator', 'editor']]), 'display_name'));",
        "wp_insert_user(['user_login' => 'ed', 'user_pass' => 'x', 'display_name' => 'New Editor', 'role' => 'editor']);",
    ),
    case(
        "comment-object",
        "return get_comment(get_option('case_comment'))->comment_content . get_comment_meta(get_option('case_comment'), 'stars', true);",
        "update_comment_meta(get_option('case_comment'), 'stars', '5');",
    ),
];

/// Definitions of posts and lists for the code of the cases.
const HELPERS: &str = "$ids = get_option('case_ids'); $list = function ($args) { \
    $query = new WP_Query($args + ['posts_per_page' => 3, 'ignore_sticky_posts' => 1]); \
    return implode(' / ', wp_list_pluck($query->posts, 'post_title')); };";

const PREPARE: &str = "$ids = []; foreach (range(1, 20) as $n) $ids[] = wp_insert_post(['post_status' => 'publish', \
    'post_title' => \"Case post $n\", 'post_date' => sprintf('2026-01-%02d 00:00:00', $n)]); update_option('case_ids', $ids); \
    foreach (['2026-05-01', '2026-06-01'] as $n => $day) update_post_meta(wp_insert_post(['post_type' => 'event', \
    'post_status' => 'publish', 'post_title' => \"Event $n\"]), 'day', $day); \
    update_option('case_comment', wp_insert_comment(['comment_post_ID' => $ids[9], 'comment_content' => 'Well.', 'comment_approved' => 1])); \
    update_post_meta($ids[8], 'rank', '2');";

/// Returns the plugin whose shortcode runs the code of a case.
fn plugin() -> String {
    let cases: Vec<String> =
        CASES.iter().map(|Case { name, code, .. }| format!("        case '{name}': {code}\n")).collect();
    let cases = cases.concat();
    format!(
        "<?php\nadd_action('init', function () {{ register_post_type('event', ['public' => true]); }});\n\
         add_filter('get_avatar_url', function ($url, $who) {{\n\
             $own = is_numeric($who) ? get_user_meta((int) $who, 'local_avatar', true) : '';\n\
             return $own ?: $url;\n\
         }}, 10, 2);\n\
         add_shortcode('case', function ($words) {{\n    {HELPERS}\n    switch ($words[0]) {{\n{cases}    }}\n}});\n"
    )
}

/// Returns the part of a page that the shortcode wrote, and the cache status of the response.
fn shown(server: &Server, name: &str, cookie: Option<&str>) -> (String, String) {
    let mut request = Request::get(&format!("/case-{name}/")).host(HOST);
    if let Some(cookie) = cookie {
        request = request.field("Cookie", cookie);
    }
    let answer = server.fetch(&request);
    let text = answer.text();
    let start = text.find("[begin]").unwrap_or_else(|| panic!("{name}: {} {text}", answer.status));
    let end = text.find("[end]").expect("the end of the shortcode");
    (text[start..end].to_owned(), answer.cache().to_owned())
}

fn check_cases(site: &WordPress, server: &Server) {
    site.run_php(HOST, PREPARE);
    for Case { name, .. } in CASES {
        let page = format!(
            "wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', 'post_title' => 'Case', 'post_name' => 'case-{name}', \
             'post_content' => '[begin][case {name}][end]']);"
        );
        site.run_php(HOST, &page);
    }
    let about = || server.fetch(&Request::get("/about-nothing/").host(HOST)).cache().to_owned();
    site.run_php(HOST, "wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', 'post_title' => 'Nothing', 'post_name' => 'about-nothing']);");
    let mut wrong = Vec::new();
    for Case { name, change, .. } in CASES {
        about();
        assert_eq!(about(), "HIT", "{name}");
        let (before, _) = shown(server, name, None);
        assert_eq!(shown(server, name, None), (before.clone(), "HIT".to_owned()), "{name}");
        site.run_php(HOST, &format!("{HELPERS} {change}"));
        let (after, _) = shown(server, name, None);
        let (uncached, cache) = shown(server, name, Some("NO_CACHE=1"));
        assert_eq!(cache, "BYPASS", "{name}");
        assert_ne!(uncached, before, "{name}: the change shows nothing");
        if after != uncached {
            wrong.push(format!("{name}: visitors get {after}, PHP makes {uncached}"));
        }
        // The header of the theme lists pages.
        if about() != "HIT" && *name != "pages-by-menu-order" {
            wrong.push(format!("{name}: a page that shows none of it was purged"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(!server.read("error.log").contains("PHP message"), "{}", server.read("error.log"));
}

#[test]
fn changes_purge_pages_of_plugins_that_read_them_by_any_function() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/cases.php"), plugin()).expect("a plugin");
    let server = site.serve_with_plugin();
    check_cases(&site, &server);
}
