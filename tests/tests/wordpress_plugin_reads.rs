//! Pages whose plugins and themes read posts, users, terms and comments with any function: a change purges the pages
//! that show it.

use std::fs;

use myriad_tests::{PATIENCE, Request, Server, WordPress, wait_patiently_for};

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

/// Plugin with a table that has settings (`text`) and a counter (`hits`), as plugins for redirects have. Each request with
/// `count` increments the counter, and a form with `settings` changes the text. Shortcodes show the text, the counter and an
/// option.
const COUNTER: &str = r#"<?php
add_action('template_redirect', function () {
    global $wpdb;
    if (isset($_REQUEST['count'])) $wpdb->query("UPDATE {$wpdb->prefix}counted SET hits = hits + 1 WHERE id = 1");
});
add_action('init', function () {
    global $wpdb;
    if (isset($_POST['settings'])) {
        $wpdb->update("{$wpdb->prefix}counted", ['text' => $_POST['settings']], ['id' => 1]);
        echo str_repeat('saved ', 4000);
        exit;
    }
});
add_shortcode('counted', function () {
    global $wpdb;
    return $wpdb->get_var("SELECT text FROM {$wpdb->prefix}counted WHERE id = 1");
});
add_shortcode('hits', function () {
    global $wpdb;
    return $wpdb->get_var("SELECT hits FROM {$wpdb->prefix}counted WHERE id = 1");
});
add_shortcode('setting', function () { return get_option('case_setting'); });
"#;

const PREPARE_COUNTER: &str = "global $wpdb; $wpdb->query(\"CREATE TABLE {$wpdb->prefix}counted (id INT PRIMARY KEY, text TEXT, hits INT)\"); \
    $wpdb->query(\"INSERT INTO {$wpdb->prefix}counted VALUES (1, 'first', 0)\"); update_option('case_setting', 'a'); \
    foreach (['counted', 'hits', 'setting'] as $name) wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', \
    'post_title' => 'Case', 'post_name' => \"case-$name\", 'post_content' => \"[begin][$name][end]\"]);";

fn serve_counter() -> (WordPress, Server) {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/counter.php"), COUNTER).expect("a plugin");
    let server = site.serve_with_plugin();
    site.run_php(HOST, PREPARE_COUNTER);
    (site, server)
}

/// Statements with the tables and columns that they write; `null` for statements that write nothing.
const STATEMENTS: &[(&str, &str, &str)] = &[
    ("SELECT a FROM x, `y` AS z JOIN db.w ON w.a = z.a, v WHERE b = 'FROM no'", "x y w v", "null"),
    ("/* plugin */ SELECT 1 FROM (a, b) UNION SELECT 2 FROM c FOR UPDATE", "a b c", "null"),
    ("SELECT a.b, `c` FROM `x` AS a WHERE d IN (1, 2) LIMIT 1", "x", "null"),
    ("SELECT a FROM x WHERE b IN (SELECT c FROM y)", "x y", "null"),
    ("SELECT a FROM x WHERE b = 1 UNION SELECT a FROM y, z", "x y z", "null"),
    ("SELECT `a from b` FROM x WHERE c = 'y' ORDER BY d", "x", "null"),
    ("SELECT a FROM x b, y WHERE c = 1", "x y", "null"),
    ("SELECT a FROM db.x WHERE b = 1", "x", "null"),
    ("INSERT INTO t (a, b) VALUES (1, 'x') ON DUPLICATE KEY UPDATE c = c + 1", "t", "c a b"),
    (
        "UPDATE t SET a = REPLACE(a, 'b', 'c'), d = (SELECT e FROM u WHERE f = 1), g = 2 WHERE h = 3",
        "t u",
        "a d g",
    ),
    ("/* plugin */ DELETE FROM t WHERE a = 1", "t", "-"),
    ("WITH c AS (SELECT 1 FROM u) DELETE FROM t", "u t", "-"),
    ("INSERT t VALUES (1)", "t", "*"),
    ("TRUNCATE t", "t", "!"),
    ("CALL update_all(1)", "", "!"),
    ("ALTER TABLE t ADD COLUMN a INT", "t", "!"),
];

#[test]
fn tables_and_written_columns_are_found_in_sql() {
    let site = WordPress::alone();
    let _server = site.serve_with_plugin();
    for (sql, tables, columns) in STATEMENTS {
        let hex = sql.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        let code = format!(
            "$sql = hex2bin('{hex}'); echo implode(' ', Myriad_Cache_Sql::tables($sql)), '|', \
             isset(Myriad_Cache_Sql::write($sql)['columns']) ? implode(' ', Myriad_Cache_Sql::write($sql)['columns']) : 'null';"
        );
        assert_eq!(site.run_php(HOST, &code).trim(), format!("{tables}|{columns}"), "{sql}");
    }
}

/// Sends a request that PHP handles and that increments the counter.
fn count(server: &Server, request: Request) {
    let answer = server.fetch(&request.host(HOST).field("Cookie", "NO_CACHE=1"));
    assert_eq!(answer.status, 200);
}

/// Checks that the page of a shortcode is stored and shows `content`.
fn assert_stored(server: &Server, name: &str, content: &str) {
    shown(server, name, None);
    assert_eq!(shown(server, name, None), (format!("[begin]{content}"), "HIT".to_owned()), "{name}");
}

#[test]
fn counters_of_page_views_purge_nothing_and_other_columns_do() {
    let (site, server) = serve_counter();
    assert_stored(&server, "counted", "first");
    // Each of the three views that teach the counter purges, because the stored page is valid for a day.
    for number in 1..=3 {
        count(&server, Request::get("/case-setting/?count=1"));
        assert_ne!(shown(&server, "counted", None).1, "HIT", "view {number}");
        assert_stored(&server, "counted", "first");
    }
    count(&server, Request::get("/case-setting/?count=1"));
    assert_eq!(shown(&server, "counted", None).1, "HIT");
    // Forms of visitors write the counter too: anybody can send them.
    let form =
        Request::post("/case-setting/", "count=1").field("Content-Type", "application/x-www-form-urlencoded");
    count(&server, form);
    assert_eq!(shown(&server, "counted", None).1, "HIT");
    site.run_php(
        HOST,
        "global $wpdb; $wpdb->update(\"{$wpdb->prefix}counted\", ['text' => 'second'], ['id' => 1]);",
    );
    assert_stored(&server, "counted", "second");
    site.run_php(HOST, "global $wpdb; $wpdb->query(\"UPDATE {$wpdb->prefix}counted SET hits = 0\");");
    assert_eq!(
        shown(&server, "counted", None).1,
        "EXPIRED",
        "a command that resets the counter is no page view"
    );
}

#[test]
fn counter_that_a_page_shows_is_no_change_of_the_page() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/counter.php"), COUNTER).expect("a plugin");
    let server = site.serve_plugin_changed(|preset| {
        let changed = preset.replace("fastcgi_cache_adaptive off;", "fastcgi_cache_adaptive 1s;");
        assert_ne!(changed, preset);
        changed
    });
    site.run_php(HOST, PREPARE_COUNTER);
    let mut numbers = Vec::new();
    // The first views teach the counter, and purge the page. Then it is valid for ten seconds.
    wait_patiently_for("six values of the counter", 4 * PATIENCE, || {
        count(&server, Request::get("/case-setting/?count=1"));
        let (number, _) = shown(&server, "hits", None);
        if numbers.last() != Some(&number) {
            numbers.push(number);
        }
        numbers.len() >= 6
    });
    // A page that shows another column of the same table: a number in it is a change. The plugin does not see the statement.
    let write = |number: u32| {
        let sql = format!("\"UPDATE {{$wpdb->prefix}}counted SET text = '{number}' WHERE id = 1\"");
        site.run_php(HOST, &format!("global $wpdb; echo (int) mysqli_query($wpdb->dbh, {sql});"))
    };
    let wait_for_number = |number: u32| {
        wait_patiently_for("the number", 4 * PATIENCE, || {
            shown(&server, "counted", None).0 == format!("[begin]{number}")
        });
    };
    assert_eq!(write(1), "1");
    wait_for_number(1);
    assert_eq!(write(2), "1");
    wait_for_number(2);
    let mut described = String::new();
    wait_patiently_for("the report of the change", PATIENCE, || {
        described = site.run_php(HOST, "echo implode(\"\\n\", Myriad_Cache_Causes::describe());");
        described.contains("/case-counted/ changed")
    });
    assert!(!described.contains("/case-hits/"), "{described}");
}

/// Counts the views of a page in a field, like popular themes.
const VIEWS: &str = "<?php add_action('template_redirect', function () { if (is_page()) update_post_meta(get_queried_object_id(), 'views', \
    (int) get_post_meta(get_queried_object_id(), 'views', true) + 1); });";

#[test]
fn views_that_are_counted_in_fields_purge_nothing() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/views.php"), VIEWS).expect("a plugin");
    let server = site.serve_with_plugin();
    site.run_php(HOST, PREPARE_COUNTER);
    // The first views teach the field, and purge the page that they count.
    let view = || server.fetch(&Request::get("/case-setting/").host(HOST)).cache().to_owned();
    assert!((0..5).any(|_| view() == "HIT"));
    let uncached = Request::get("/case-setting/").host(HOST).field("Cookie", "NO_CACHE=1");
    assert_eq!(server.fetch(&uncached).cache(), "BYPASS");
    assert_eq!(view(), "HIT");
    site.run_php(HOST, "update_post_meta(get_page_by_path('case-setting')->ID, 'views', 0);");
    assert_ne!(view(), "HIT", "a command changes the field");
}

#[test]
fn a_client_that_has_the_response_to_a_change_finds_no_older_page() {
    let (_site, server) = serve_counter();
    for text in (0..12).map(|n| format!("text-{n}")) {
        shown(&server, "counted", None);
        let answer = server.fetch(
            &Request::post("/", format!("settings={text}").as_bytes())
                .host(HOST)
                .field("Content-Type", "application/x-www-form-urlencoded"),
        );
        assert!(answer.text().contains("saved"), "{} {}", answer.status, answer.text());
        assert_eq!(shown(&server, "counted", None).0, format!("[begin]{text}"));
    }
}

#[test]
fn only_options_that_pages_read_purge_pages() {
    let (site, server) = serve_counter();
    assert_stored(&server, "setting", "a");
    site.run_php(HOST, "update_option('case_unread', time());");
    assert_eq!(shown(&server, "setting", None).1, "HIT");
    site.run_php(HOST, "update_option('case_setting', 'b');");
    assert_stored(&server, "setting", "b");
}

#[test]
fn purges_that_plugins_request_from_other_caches_are_honoured() {
    let (site, server) = serve_counter();
    assert_stored(&server, "setting", "a");
    let calls = [
        "do_action('litespeed_purge_all');",
        "do_action('cache_enabler_clear_complete_cache');",
        "do_action('litespeed_purge_post', get_page_by_path('case-setting')->ID);",
        "clean_post_cache(get_page_by_path('case-setting')->ID);",
        "do_action('litespeed_purge_url', home_url('/case-setting/'));",
    ];
    for call in calls {
        site.run_php(HOST, call);
        assert_ne!(shown(&server, "setting", None).1, "HIT", "{call}");
        assert_eq!(shown(&server, "setting", None).1, "HIT", "{call}");
    }
}

/// Plugin that redirects before the template is selected, to a target in its own table, shows the address of the visitor, and
/// has a form for comments without a text for users.
const EARLY: &str = r#"<?php
add_action('init', function () {
    global $wpdb;
    if ('/moved' === strtok($_SERVER['REQUEST_URI'], '?')) {
        wp_redirect($wpdb->get_var("SELECT target FROM {$wpdb->prefix}moved"), 301);
        exit;
    }
    add_rewrite_tag('%sitemap%', '([^?]+)');
    add_rewrite_rule('own-sitemap\\.xml$', 'index.php?sitemap=post', 'top');
});
add_action('pre_get_posts', function ($query) {
    global $wpdb;
    if ('post' === $query->get('sitemap')) {
        header('Content-Type: text/xml');
        echo $wpdb->get_var("SELECT MAX(post_modified) FROM $wpdb->posts WHERE post_status = 'publish'");
        exit;
    }
}, 1);
add_filter('nocache_headers', fn ($fields) => ['Cache-Control' => 'no-cache, must-revalidate, max-age=0, no-store, private'] + $fields);
add_action('init', function () { $GLOBALS['at_init'] = $_SERVER['REMOTE_ADDR']; }, 0);
add_shortcode('address', function () { return $GLOBALS['at_init'] . ' ' . $_SERVER['REMOTE_ADDR'] . ' ' . ($_SERVER['HTTP_X_REAL_IP'] ?? 'none'); });
add_action('shutdown', function () { file_put_contents(ABSPATH . 'address.txt', $_SERVER['REMOTE_ADDR']); });
add_shortcode('form', function () {
    ob_start();
    comment_form(['logged_in_as' => ''], get_posts(['numberposts' => 1])[0]->ID);
    return ob_get_clean();
});
"#;

#[test]
fn redirects_before_the_template_are_purged_and_pages_do_not_depend_on_the_address() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/early.php"), EARLY).expect("a plugin");
    let server = site.serve_with_plugin();
    site.run_php(
        HOST,
        "global $wpdb; $wpdb->query(\"CREATE TABLE {$wpdb->prefix}moved (target TEXT)\"); \
         $wpdb->query(\"INSERT INTO {$wpdb->prefix}moved VALUES ('/first/')\"); \
         foreach (['address', 'form'] as $name) wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', \
         'post_title' => 'Case', 'post_name' => \"case-$name\", 'post_content' => \"[begin][$name][end]\"]); \
         wp_insert_user(['user_login' => 'reader', 'user_pass' => 'reader', 'role' => 'subscriber']);",
    );
    let moved = || {
        let answer = server.fetch(&Request::get("/moved").host(HOST));
        (answer.field("Location").unwrap_or_default().to_owned(), answer.cache().to_owned())
    };
    moved();
    assert_eq!(moved(), ("/first/".into(), "HIT".into()));
    site.run_php(
        HOST,
        "global $wpdb; $wpdb->query(\"UPDATE {$wpdb->prefix}moved SET target = '/second/'\");",
    );
    assert_eq!(moved().0, "/second/");

    site.run_php(HOST, "flush_rewrite_rules();");
    let missing = || server.fetch(&Request::get("/favicon-missing.js").host(HOST));
    assert_eq!(missing().status, 404);
    assert_eq!(missing().cache(), "HIT");

    let sitemap = || server.fetch(&Request::get("/own-sitemap.xml").host(HOST));
    let first = sitemap().text();
    assert_eq!((sitemap().cache(), sitemap().status), ("HIT", 200));
    site.run_php(HOST, "sleep(1); wp_update_post(['ID' => get_posts(['numberposts' => 1])[0]->ID, 'post_content' => 'changed']);");
    assert_ne!(sitemap().text(), first);

    assert_eq!(shown(&server, "address", None).0, "[begin]192.0.2.1 192.0.2.1 none");
    let own = shown(&server, "address", Some("NO_CACHE=1"));
    assert_ne!(own.0, "[begin]192.0.2.1 192.0.2.1 none", "a page of one visitor");
    assert_eq!(
        fs::read_to_string(site.root().join("address.txt")).expect("written"),
        own.0["[begin]".len()..].split(' ').next().expect("an address")
    );

    let cookie = site.run_php(HOST, "echo LOGGED_IN_COOKIE, '=', wp_generate_auth_cookie(get_user_by('login', 'reader')->ID, time() + 3600, 'logged_in');");
    shown(&server, "form", None);
    let (form, status) = shown(&server, "form", Some(&cookie));
    assert_eq!(status, "HIT");
    assert!(form.contains("name=\"comment\"") && !form.contains("logged-in-as"), "{form}");
}

/// Plugin whose filters change the sitemaps of WordPress: it selects events by a term, omits pages by a field, and adds a field of posts if an option is set.
const SITEMAPS: &str = r"<?php
add_action('init', function () {
    register_post_type('event', ['public' => true]);
    register_taxonomy('kind', ['event'], ['public' => false]);
});
add_filter('wp_sitemaps_posts_query_args', function ($args, $type) {
    if ('event' === $type) $args['tax_query'] = [['taxonomy' => 'kind', 'field' => 'slug', 'terms' => ['german']]];
    if ('page' === $type) $args['meta_query'] = [['key' => 'noindex', 'compare' => 'NOT EXISTS']];
    return $args;
}, 10, 2);
if (get_option('case_entries')) add_filter('wp_sitemaps_posts_entry', function ($entry, $post) {
    return $entry + ['priority' => get_post_meta($post->ID, 'priority', true)];
}, 10, 2);
";

/// Returns a sitemap, which must be stored at the second request.
fn sitemap(server: &Server, target: &str) -> String {
    server.fetch(&Request::get(target).host(HOST));
    let answer = server.fetch(&Request::get(target).host(HOST));
    assert_eq!(answer.cache(), "HIT", "{target}");
    answer.text()
}

#[test]
fn sitemaps_depend_on_what_filters_of_plugins_select() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/sitemaps.php"), SITEMAPS).expect("a plugin");
    let server = site.serve_with_plugin();
    site.run_php(
        HOST,
        "wp_insert_term('German', 'kind'); foreach (range(1, 5) as $n) wp_insert_post(['post_type' => 'event', \
         'post_status' => 'publish', 'post_title' => \"Event $n\", 'post_name' => \"event-$n\"]);",
    );
    assert!(!sitemap(&server, "/wp-sitemap.xml").contains("posts-event-1.xml"));
    assert!(sitemap(&server, "/wp-sitemap-posts-page-1.xml").contains("/about/"));
    let event = "get_page_by_path('event-3', OBJECT, 'event')->ID";
    site.run_php(HOST, &format!("wp_set_object_terms({event}, 'german', 'kind');"));
    assert!(sitemap(&server, "/wp-sitemap.xml").contains("posts-event-1.xml"));
    assert!(sitemap(&server, "/wp-sitemap-posts-event-1.xml").contains("event-3"));
    site.run_php(HOST, &format!("wp_remove_object_terms({event}, 'german', 'kind');"));
    assert!(!sitemap(&server, "/wp-sitemap.xml").contains("posts-event-1.xml"));
    site.run_php(HOST, "update_post_meta(get_page_by_path('about')->ID, 'noindex', '1');");
    assert!(!sitemap(&server, "/wp-sitemap-posts-page-1.xml").contains("/about/"));
    site.run_php(HOST, "update_option('case_entries', '1'); do_action('litespeed_purge_all');");
    let post = "get_posts(['numberposts' => 1])[0]->ID";
    assert!(!sitemap(&server, "/wp-sitemap-posts-post-1.xml").contains("<priority>0.9<"));
    site.run_php(HOST, &format!("update_post_meta({post}, 'priority', '0.9');"));
    assert!(sitemap(&server, "/wp-sitemap-posts-post-1.xml").contains("<priority>0.9<"));
}
