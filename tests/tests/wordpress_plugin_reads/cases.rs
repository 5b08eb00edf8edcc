//! Shortcodes that read posts, users, terms and comments with any function, each with a change that is visible on its page.

use std::fs;

use myriad_tests::{Request, Server, WordPress};

use crate::{HOST, shown};

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
        "term-query-object",
        "return implode(',', wp_list_pluck((new WP_Term_Query(['taxonomy' => 'post_tag', 'hide_empty' => false]))->get_terms(), 'name'));",
        "wp_insert_term('A new tag', 'post_tag');",
    ),
    case(
        "terms-without-pages",
        "return implode(',', get_terms(['taxonomy' => 'kind', 'fields' => 'names', 'hide_empty' => false]));",
        "wp_insert_term('A new kind', 'kind');",
    ),
    case(
        "events-without-a-term",
        "return $list(['post_type' => 'event', 'tax_query' => [['taxonomy' => 'kind', 'field' => 'slug', 'terms' => ['hidden'], 'operator' => 'NOT IN']]]);",
        "wp_remove_object_terms($event('Event 0'), 'hidden', 'kind');",
    ),
    case(
        "events-with-any-term",
        "return $list(['post_type' => 'event', 'tax_query' => [['taxonomy' => 'kind', 'operator' => 'EXISTS']]]);",
        "wp_set_object_terms($event('Event 1'), 'shown', 'kind');",
    ),
    // Plugins for languages select posts when WordPress has parsed the terms of a query already.
    case(
        "events-with-a-term-that-a-filter-adds",
        "$add = function ($query) { $query->query_vars['tax_query'] = [['taxonomy' => 'kind', 'field' => 'slug', 'terms' => ['german']]]; }; \
         add_action('parse_query', $add); $text = $list(['post_type' => 'event']); remove_action('parse_query', $add); return $text;",
        "wp_set_object_terms($event('Event 1'), 'german', 'kind', true);",
    ),
    case(
        "posts-with-sql-of-a-filter",
        "$add = function ($where) { global $wpdb; return \"$where AND ID IN (SELECT post_id FROM {$wpdb->postmeta} WHERE meta_key = 'chosen')\"; }; \
         add_filter('posts_where', $add); $text = $list([]); remove_filter('posts_where', $add); return $text;",
        "update_post_meta($ids[14], 'chosen', '1');",
    ),
    case(
        "posts-with-a-column-in-sql-of-a-filter",
        "$add = function ($where) { return \"$where AND post_excerpt = 'chosen'\"; }; \
         add_filter('posts_where', $add); $text = $list([]); remove_filter('posts_where', $add); return $text;",
        "wp_update_post(['ID' => $ids[15], 'post_excerpt' => 'chosen']);",
    ),
    case(
        "posts-with-fields-and-sql-of-a-filter",
        "$add = function ($where) { global $wpdb; return \"$where AND ID IN (SELECT post_id FROM {$wpdb->postmeta} WHERE meta_key = 'picked')\"; }; \
         add_filter('posts_where', $add); $text = $list(['meta_query' => [['key' => 'unpicked', 'compare' => 'NOT EXISTS']]]); remove_filter('posts_where', $add); return $text;",
        "update_post_meta($ids[14], 'picked', '1');",
    ),
    case(
        "posts-with-terms-in-sql-of-a-filter",
        "$add = function ($where) { global $wpdb; $of = get_term_by('slug', 'shown', 'kind')->term_taxonomy_id; \
         return \"$where AND ID IN (SELECT object_id FROM {$wpdb->term_relationships} WHERE term_taxonomy_id = $of)\"; }; \
         add_filter('posts_where', $add); $text = $list([]); remove_filter('posts_where', $add); return $text;",
        "wp_set_object_terms($ids[13], 'shown', 'kind', true);",
    ),
    case(
        "posts-with-terms-and-sql-of-a-filter",
        "$add = function ($where) { global $wpdb; $of = get_term_by('slug', 'shown', 'kind')->term_taxonomy_id; \
         return \"$where AND ID IN (SELECT object_id FROM {$wpdb->term_relationships} WHERE term_taxonomy_id = $of)\"; }; \
         add_filter('posts_where', $add); $text = $list(['tax_query' => [['taxonomy' => 'kind', 'field' => 'slug', 'terms' => ['hidden'], 'operator' => 'NOT IN']]]); \
         remove_filter('posts_where', $add); return $text;",
        "wp_set_object_terms($ids[12], 'shown', 'kind', true);",
    ),
    case(
        "posts-with-long-sql-of-a-filter",
        "$add = function ($where) { return \"$where AND ID NOT IN (\" . implode(',', range(1000000, 1002000)) . \") AND post_mime_type = 'chosen'\"; }; \
         add_filter('posts_where', $add); $text = $list([]); remove_filter('posts_where', $add); return $text;",
        "wp_update_post(['ID' => $ids[15], 'post_mime_type' => 'chosen']);",
    ),
    case(
        "table-in-long-sql",
        "global $wpdb; return $wpdb->get_var(\"SELECT CONCAT('\" . str_repeat('x', 12000) . \"', (SELECT text FROM {$wpdb->prefix}case_texts WHERE id = 1))\");",
        "$wpdb->update(\"{$wpdb->prefix}case_texts\", ['text' => 'long'], ['id' => 1]);",
    ),
    case(
        "post-in-long-sql",
        "global $wpdb; return $wpdb->get_var(\"SELECT CONCAT('\" . str_repeat('x', 12000) . \"', (SELECT post_title FROM {$wpdb->posts} WHERE ID = {$ids[11]}))\");",
        "wp_update_post(['ID' => $ids[11], 'post_title' => 'Long']);",
    ),
    case(
        "picture-in-a-block",
        "return do_blocks('<!-- wp:image {\"id\":' . $ids[2] . '} --><i>' . get_post($ids[2])->post_name . '</i><!-- /wp:image -->');",
        "wp_update_post(['ID' => $ids[2], 'post_name' => 'renamed']);",
    ),
    case(
        "terms-of-a-post",
        "return implode(',', wp_get_object_terms($ids[16], 'kind', ['fields' => 'names']));",
        "wp_set_object_terms($ids[16], 'shown', 'kind');",
    ),
    case(
        "posts-of-a-term",
        "return implode(',', get_objects_in_term(get_term_by('slug', 'german', 'kind')->term_id, 'kind'));",
        "wp_set_object_terms($ids[17], 'german', 'kind');",
    ),
    case(
        "terms-of-a-user",
        "return implode(',', wp_get_object_terms(1, 'job', ['fields' => 'names']));",
        "wp_set_object_terms(1, 'baker', 'job');",
    ),
    case(
        "terms-with-a-term",
        "$of = get_term_by('slug', 'german', 'tongue')->term_taxonomy_id; $add = function ($clauses) use ($of) { global $wpdb; \
         $clauses['where'] .= \" AND t.term_id IN (SELECT object_id FROM {$wpdb->term_relationships} WHERE term_taxonomy_id = $of)\"; return $clauses; }; \
         add_filter('terms_clauses', $add); $names = get_terms(['taxonomy' => 'category', 'hide_empty' => false, 'fields' => 'names']); \
         remove_filter('terms_clauses', $add); return implode(',', $names);",
        "wp_set_object_terms(get_term_by('slug', 'rivers', 'category')->term_id, 'german', 'tongue');",
    ),
    case(
        "active-widget",
        "return is_active_widget(false, false, 'calendar') ? 'yes' : 'no';",
        "$all = wp_get_sidebars_widgets(); $all['sidebar-1'][] = 'calendar-9'; wp_set_sidebars_widgets($all);",
    ),
    case(
        "number-of-terms",
        "return wp_count_terms(['taxonomy' => 'category', 'hide_empty' => false]);",
        "wp_insert_term('A new category', 'category');",
    ),
    case(
        "number-of-users",
        "return count_users()['total_users'];",
        "wp_insert_user(['user_login' => 'counted', 'user_pass' => 'x', 'role' => 'subscriber']);",
    ),
    case(
        "number-of-comments",
        "return wp_count_comments()->approved . get_comments(['count' => true, 'status' => 'approve']);",
        "wp_insert_comment(['comment_post_ID' => $ids[13], 'comment_content' => 'Counted.', 'comment_approved' => 1]);",
    ),
    case(
        "number-of-deleted-comments",
        "return get_comments(['count' => true]);",
        "wp_delete_comment(get_comments(['post_id' => $ids[3], 'number' => 1])[0]->comment_ID, true);",
    ),
    case(
        "numbers-of-posts-of-authors",
        "return wp_list_authors(['echo' => false, 'optioncount' => true, 'exclude_admin' => false]);",
        "wp_insert_post(['post_status' => 'publish', 'post_title' => 'One more', 'post_author' => 1]);",
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
        "content-changed-by-sql",
        "return get_post($ids[8])->post_content;",
        "global $wpdb; $wpdb->update($wpdb->posts, ['post_content' => 'by SQL'], ['ID' => $ids[8]]);",
    ),
    case(
        "order-changed-by-sql",
        "return $list(['orderby' => 'menu_order', 'order' => 'DESC']);",
        "global $wpdb; $wpdb->query(\"UPDATE {$wpdb->posts} SET menu_order = 7 WHERE ID IN ({$ids[9]}, 0, {$ids[9]})\");",
    ),
    case(
        "field-changed-by-sql",
        "return get_post_meta($ids[10], 'size', true);",
        "global $wpdb; $wpdb->insert($wpdb->postmeta, ['post_id' => $ids[10], 'meta_key' => 'size', 'meta_value' => '9']);",
    ),
    case(
        "title-replaced-by-sql",
        "return get_post($ids[4])->post_title;",
        "global $wpdb; $wpdb->query(\"UPDATE {$wpdb->posts} SET post_title = CONCAT(post_title, ' now')\");",
    ),
    case(
        "option-changed-by-sql",
        "return get_option('case_colour');",
        "global $wpdb; $wpdb->replace($wpdb->options, ['option_name' => 'case_colour', 'option_value' => 'red', 'autoload' => 'yes']);",
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
    case(
        "field-deleted-from-each-post",
        "return get_metadata('post', $ids[15], 'case_deleted', true);",
        "delete_metadata('post', 0, 'case_deleted', '', true);",
    ),
    case(
        "field-deleted-from-each-term",
        "return get_metadata('term', get_term_by('slug', 'rivers', 'category')->term_id, 'case_deleted', true);",
        "delete_metadata('term', 0, 'case_deleted', '', true);",
    ),
    case(
        "field-deleted-from-each-comment",
        "return get_metadata('comment', get_option('case_comment'), 'case_deleted', true);",
        "delete_metadata('comment', 0, 'case_deleted', '', true);",
    ),
    case(
        "field-deleted-from-each-user",
        "return get_metadata('user', 1, 'case_deleted', true);",
        "delete_metadata('user', 0, 'case_deleted', '', true);",
    ),
    case(
        "table-of-a-plugin",
        "global $wpdb; return $wpdb->get_var(\"SELECT text FROM {$wpdb->prefix}case_texts WHERE id = 1\");",
        "$wpdb->update(\"{$wpdb->prefix}case_texts\", ['text' => 'changed'], ['id' => 1]);",
    ),
    case(
        "joined-table-of-a-plugin",
        "global $wpdb; return $wpdb->get_var(\"SELECT name FROM {$wpdb->posts} p, `{$wpdb->prefix}case_names` AS n WHERE n.id = p.ID OR n.id = 2 ORDER BY n.id LIMIT 1\");",
        "$wpdb->query(\"INSERT INTO {$wpdb->prefix}case_names (id, name) VALUES (2, 'x') ON DUPLICATE KEY UPDATE name = 'changed'\");",
    ),
    // The first page computes the transient, so that the page of this case reads it only.
    case(
        "transient-of-another-page",
        "return $cached();",
        "delete_transient('case_list_1'); wp_update_post(['ID' => $ids[10], 'post_title' => 'Renamed']); \
         $wpdb->update(\"{$wpdb->prefix}case_texts\", ['text' => 'cached'], ['id' => 1]);",
    ),
    case(
        "transient-with-version",
        "return $cached();",
        "set_transient('case-transient-version', 2); wp_update_post(['ID' => $ids[10], 'post_title' => 'Renamed again']);",
    ),
    case(
        "transient-of-the-network",
        "return $site_cached();",
        "delete_site_transient('case_site'); wp_update_post(['ID' => $ids[11], 'post_title' => 'Renamed']);",
    ),
    // The transients are deleted without an action, so that only the tags of the page purge it.
    case(
        "transient-of-the-network-of-another-page",
        "return 'again ' . $site_cached();",
        "$wpdb->query(\"DELETE FROM {$wpdb->options} WHERE option_name LIKE '%_transient_%case_site'\"); wp_update_post(['ID' => $ids[11], 'post_title' => 'Renamed again']);",
    ),
    case(
        "transient-stored-during-shutdown",
        "return $late();",
        "delete_transient('case_late'); wp_update_post(['ID' => $ids[12], 'post_title' => 'Renamed']);",
    ),
    case(
        "transient-stored-during-shutdown-of-another-page",
        "return 'again ' . $late();",
        "$wpdb->query(\"DELETE FROM {$wpdb->options} WHERE option_name LIKE '%_transient_%case_late'\"); wp_update_post(['ID' => $ids[12], 'post_title' => 'Renamed again']);",
    ),
    case(
        "table-without-prefix",
        "global $wpdb; return $wpdb->get_var('SELECT COUNT(*) FROM case_external');",
        "$wpdb->query('DELETE FROM case_external');",
    ),
];

/// Definitions of posts and lists for the code of the cases.
const HELPERS: &str = "global $wpdb; $ids = get_option('case_ids'); \
    $event = function ($title) { return get_posts(['post_type' => 'event', 'title' => $title])[0]->ID; }; $list = function ($args) { \
    $query = new WP_Query($args + ['posts_per_page' => 3, 'ignore_sticky_posts' => 1]); \
    return implode(' / ', wp_list_pluck($query->posts, 'post_title')); }; \
    $cached = function () use ($ids) { global $wpdb; \
    $name = 'case_list_' . (int) get_transient('case-transient-version'); $text = get_transient($name); \
    if ($text === false) { $text = $wpdb->get_var(\"SELECT text FROM {$wpdb->prefix}case_texts WHERE id = 1\") . get_post($ids[10])->post_title; \
    set_transient($name, $text, 3600); } return $text; }; \
    $site_cached = function () use ($ids) { $text = get_site_transient('case_site'); \
    if ($text === false) { $text = get_post($ids[11])->post_title; set_site_transient('case_site', $text, 3600); } return $text; }; \
    $late = function () use ($ids) { $text = get_transient('case_late'); if ($text === false) { $text = get_post($ids[12])->post_title; \
    add_action('shutdown', function () use ($text) { set_transient('case_late', $text, 3600); }); } return $text; };";

const PREPARE: &str = "$ids = []; foreach (range(1, 20) as $n) $ids[] = wp_insert_post(['post_status' => 'publish', \
    'post_title' => \"Case post $n\", 'post_date' => sprintf('2026-01-%02d 00:00:00', $n)]); update_option('case_ids', $ids); \
    foreach (['2026-05-01', '2026-06-01'] as $n => $day) update_post_meta(wp_insert_post(['post_type' => 'event', \
    'post_status' => 'publish', 'post_title' => \"Event $n\"]), 'day', $day); \
    wp_set_object_terms(get_posts(['post_type' => 'event', 'title' => 'Event 0'])[0]->ID, 'hidden', 'kind'); \
    wp_insert_term('Shown', 'kind'); wp_insert_term('German', 'kind'); wp_insert_term('German', 'tongue'); wp_insert_term('Baker', 'job'); \
    update_option('case_comment', wp_insert_comment(['comment_post_ID' => $ids[9], 'comment_content' => 'Well.', 'comment_approved' => 1])); \
    update_post_meta($ids[8], 'rank', '2'); global $wpdb; \
    foreach (['post' => $ids[15], 'term' => get_term_by('slug', 'rivers', 'category')->term_id, \
    'comment' => get_option('case_comment'), 'user' => 1] as $type => $id) add_metadata($type, $id, 'case_deleted', 'text'); \
    foreach ([\"{$wpdb->prefix}case_texts (id INT PRIMARY KEY, text TEXT, hits INT DEFAULT 0)\", \
    \"{$wpdb->prefix}case_names (id INT PRIMARY KEY, name TEXT)\", 'case_external (id INT)'] as $table) \
    $wpdb->query(\"CREATE TABLE $table\"); $wpdb->query(\"INSERT INTO {$wpdb->prefix}case_texts (id, text) VALUES (1, 'first')\"); \
    set_transient('case-transient-version', 1); \
    $wpdb->query(\"INSERT INTO {$wpdb->prefix}case_names VALUES (2, 'first')\"); $wpdb->query('INSERT INTO case_external VALUES (1)');";

/// Returns the plugin whose shortcode runs the code of a case.
fn plugin() -> String {
    let cases: Vec<String> =
        CASES.iter().map(|Case { name, code, .. }| format!("        case '{name}': {code}\n")).collect();
    let cases = cases.concat();
    format!(
        "<?php\nadd_action('init', function () {{ register_post_type('event', ['public' => true]); register_taxonomy('kind', ['post', 'event'], ['public' => false]); register_taxonomy('tongue', 'term', ['public' => false]); register_taxonomy('job', 'user', ['public' => false]); }});\n\
         add_filter('get_avatar_url', function ($url, $who) {{\n\
             $own = is_numeric($who) ? get_user_meta((int) $who, 'local_avatar', true) : '';\n\
             return $own ?: $url;\n\
         }}, 10, 2);\n\
         add_shortcode('case', function ($words) {{\n    {HELPERS}\n    switch ($words[0]) {{\n{cases}    }}\n}});\n"
    )
}

/// Cases whose change concerns all pages, or may concern them: the header of the theme lists pages, and no tag names the changed objects.
const OF_ALL_PAGES: &[&str] =
    &["pages-by-menu-order", "field-changed-by-sql", "title-replaced-by-sql", "option-changed-by-sql"];

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
        if about() != "HIT" && !OF_ALL_PAGES.contains(name) {
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
