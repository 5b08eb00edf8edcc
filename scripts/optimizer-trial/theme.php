// Fills the menus and sidebars of the present theme, for scripts/try-optimizer. Returns their numbers.
$menu      = wp_get_nav_menu_object('Main')->term_id;
$locations = array_fill_keys(array_keys(get_registered_nav_menus()), $menu);
set_theme_mod('nav_menu_locations', $locations);
global $wp_registered_sidebars;
$kinds = array('search' => array('title' => 'Search'), 'recent-posts' => array('title' => 'Recent', 'number' => 4, 'show_date' => true), 'categories' => array('title' => 'Categories', 'count' => 1, 'hierarchical' => 0, 'dropdown' => 0),
    'tag_cloud' => array('title' => 'Tags', 'taxonomy' => 'post_tag'), 'calendar' => array('title' => 'Calendar'), 'archives' => array('title' => 'Archives', 'count' => 0, 'dropdown' => 1),
    'recent-comments' => array('title' => 'Comments', 'number' => 3), 'text' => array('title' => 'Text', 'text' => "A  text\n<pre>  kept  </pre>", 'filter' => true));
$widgets = array_fill_keys(array_keys($wp_registered_sidebars), array());
$names   = array_keys($kinds);
$number  = 10;
foreach (array_keys($widgets) as $place => $sidebar) {
    // The first sidebar gets all widgets, each other one two of them.
    foreach ($place ? array($names[$place % count($names)], $names[($place + 3) % count($names)]) : $names as $kind) {
        $number++;
        $stored          = get_option("widget_$kind", array());
        $stored[$number] = $kinds[$kind];
        update_option("widget_$kind", $stored);
        $widgets[$sidebar][] = "$kind-$number";
    }
}
wp_set_sidebars_widgets($widgets);
return array('menus' => count($locations), 'sidebars' => count($widgets), 'blocks' => wp_is_block_theme(), 'version' => (string) wp_get_theme()->get('Version'));
