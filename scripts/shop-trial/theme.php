// Puts the cart into the header of a block theme, and the widgets of WooCommerce into the sidebar of others.
$theme = get_stylesheet();
if (!wp_is_block_theme()) {
    update_option('widget_woocommerce_widget_cart', array(2 => array('title' => 'Cart', 'hide_if_empty' => 0), '_multiwidget' => 1));
    update_option('widget_woocommerce_products', array(2 => array('title' => 'Goods', 'number' => 3, 'show' => '', 'orderby' => 'date', 'order' => 'desc', 'hide_free' => 0, 'show_hidden' => 0), '_multiwidget' => 1));
    wp_set_sidebars_widgets(array('sidebar-1' => array('woocommerce_widget_cart-2', 'woocommerce_products-2')));
    return true;
}
foreach (get_posts(array('post_type' => 'wp_template_part', 'name' => 'header', 'post_status' => 'any', 'numberposts' => -1)) as $old) {
    wp_delete_post($old->ID, true);
}
$id = wp_insert_post(array('post_type' => 'wp_template_part', 'post_status' => 'publish', 'post_name' => 'header', 'post_title' => 'Header',
    'post_content' => '<!-- wp:group {"layout":{"type":"flex"}} --><div class="wp-block-group"><!-- wp:site-title /--><!-- wp:woocommerce/customer-account /--><!-- wp:woocommerce/mini-cart /--></div><!-- /wp:group -->'));
wp_set_object_terms($id, $theme, 'wp_theme');
wp_set_object_terms($id, 'header', 'wp_template_part_area');
return true;
