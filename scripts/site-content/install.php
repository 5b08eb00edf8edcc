<?php
// Fills a site made by scripts/site: php install.php database|install|content DIR
// Each step is a separate process, because WordPress decides at load time whether it is being installed.

namespace Site;

[, $step, $dir] = $argv;
$secrets = parse_ini_file("$dir/site.env", false, INI_SCANNER_RAW);
$_SERVER += array('HTTP_HOST' => 'localhost', 'REQUEST_METHOD' => 'GET', 'REQUEST_URI' => '/',
    'SERVER_PROTOCOL' => 'HTTP/1.1', 'SERVER_NAME' => 'localhost', 'REMOTE_ADDR' => '127.0.0.1');

switch ($step) {
    case 'database':
        make_database($dir, $secrets);
        break;
    case 'install':
        define('WP_INSTALLING', true);
        require "$dir/wordpress/wp-load.php";
        install($secrets);
        break;
    case 'content':
        require "$dir/wordpress/wp-load.php";
        require __DIR__ . '/words.php';
        write_content();
        break;
    default:
        exit("install.php: unknown step $step\n");
}

function make_database($dir, $secrets) {
    $db = new \mysqli('localhost', 'root', '', '', 0, "$dir/run/db.sock");
    $db->query('CREATE DATABASE wordpress CHARACTER SET utf8mb4');
    $db->query("CREATE USER wordpress@localhost IDENTIFIED BY '{$secrets['DB_PASSWORD']}'");
    $db->query('GRANT ALL ON wordpress.* TO wordpress@localhost');
    $db->query("ALTER USER root@localhost IDENTIFIED BY '{$secrets['DB_ROOT_PASSWORD']}'");
}

function install($secrets) {
    require_once ABSPATH . 'wp-admin/includes/upgrade.php';
    add_filter('pre_wp_mail', '__return_true'); // no mail is sent
    wp_install('Ten Thousand Words', $secrets['ADMIN_USER'], 'admin@example.org', true, '', $secrets['ADMIN_PASSWORD']);
    update_option('blogdescription', 'A journal of slow things, served fast');
    update_option('permalink_structure', '/%postname%/');
    update_option('comment_moderation', 0);
    update_option('comment_previously_approved', 0); // comments appear at once, to try it out
    update_option('posts_per_page', 6);
}

function write_content() {
    wp_set_current_user(1);
    mt_srand(10000); // the same site every time, so that measurements can be compared
    global $wp_rewrite;
    $wp_rewrite->init();
    flush_rewrite_rules(false);
    foreach (get_posts(array('numberposts' => -1, 'post_status' => 'any', 'post_type' => array('post', 'page'))) as $sample) {
        wp_delete_post($sample->ID, true);
    }
    $categories = array();
    foreach (array('Gardens', 'Kitchens', 'Rivers', 'Workshops', 'Journeys') as $name) {
        $categories[] = wp_insert_term($name, 'category')['term_id'];
    }
    $start = strtotime('2026-01-04 08:00:00 UTC');
    for ($number = 1; $number <= 60; $number++) {
        write_post($number, $categories, gmdate('Y-m-d H:i:s', $start + $number * 86400 * 2));
    }
    foreach (array('About', 'Contact', 'Colophon') as $title) {
        wp_insert_post(array('post_title' => $title, 'post_content' => blocks(6), 'post_type' => 'page',
            'post_status' => 'publish'));
    }
}

function write_post($number, $categories, $date) {
    $id = wp_insert_post(array(
        'post_title' => title($number), 'post_content' => blocks(mt_rand(9, 16)), 'post_excerpt' => excerpt(),
        'post_status' => 'publish', 'post_date' => $date, 'post_date_gmt' => $date, 'comment_status' => 'open',
        'post_category' => array($categories[$number % count($categories)]), 'tags_input' => pick(tags(), 3),
    ), true);
    for ($comment = mt_rand(0, 4); $comment > 0; $comment--) {
        wp_insert_comment(array('comment_post_ID' => $id, 'comment_author' => ucfirst(pick(names(), 1)[0]),
            'comment_author_email' => 'reader@example.org', 'comment_content' => sentence(), 'comment_approved' => 1,
            'comment_date' => $date, 'comment_date_gmt' => $date));
    }
}
