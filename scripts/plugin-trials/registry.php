// Returns the shortcodes, blocks, types of posts, widgets, REST routes and pages of the site.
global $shortcode_tags, $wp_widget_factory;
$types = array();
foreach (get_post_types(array(), 'objects') as $type) {
    $rest = $type->show_in_rest ? '/' . ($type->rest_namespace ?? 'wp/v2') . '/' . ($type->rest_base ?: $type->name) : '';
    $types[$type->name] = array(
        'public' => is_post_type_viewable($type), 'ui' => $type->show_ui, 'rest' => $rest,
        'archive' => $type->has_archive ? get_post_type_archive_link($type->name) : false,
    );
}
$taxonomies = array();
foreach (get_taxonomies(array(), 'objects') as $taxonomy) {
    $taxonomies[$taxonomy->name] = array('ui' => $taxonomy->show_ui, 'types' => $taxonomy->object_type, 'public' => $taxonomy->publicly_queryable);
}
$blocks = array();
foreach (WP_Block_Type_Registry::get_instance()->get_all_registered() as $name => $block) {
    $blocks[$name] = array('dynamic' => $block->is_dynamic(), 'parent' => $block->parent);
}
$routes = array();
foreach (rest_get_server()->get_routes() as $route => $handlers) {
    foreach ($handlers as $handler) {
        $routes[$route] = array_merge($routes[$route] ?? array(), array_keys($handler['methods'] ?? array()));
    }
}
$pages = array();
foreach (get_posts(array('post_type' => array('page', 'post'), 'numberposts' => -1, 'post_status' => 'publish')) as $page) {
    $pages[$page->ID] = get_permalink($page);
}
return array(
    'version' => get_bloginfo('version'),
    'shortcodes' => array_keys($shortcode_tags), 'blocks' => $blocks, 'types' => $types, 'taxonomies' => $taxonomies,
    'widgets' => array_map(function ($widget) { return $widget->id_base; }, array_values($wp_widget_factory->widgets)),
    'routes' => (object) $routes, 'pages' => (object) $pages,
);
