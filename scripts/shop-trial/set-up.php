// Creates the shop of scripts/try-shop: products, a shipping method, taxes and pages. Returns the paths of its pages and the numbers of its products.
foreach (array(
    'woocommerce_coming_soon' => 'no', 'woocommerce_store_pages_only' => 'no', 'woocommerce_store_address' => 'Lane 1', 'woocommerce_store_city' => 'Leeds',
    'woocommerce_default_country' => 'GB', 'woocommerce_currency' => 'GBP', 'woocommerce_enable_guest_checkout' => 'yes',
    'woocommerce_enable_signup_and_login_from_checkout' => 'no', 'woocommerce_cod_settings' => array('enabled' => 'yes', 'enable_for_virtual' => 'yes'),
    'woocommerce_calc_taxes' => 'yes', 'woocommerce_prices_include_tax' => 'no', 'woocommerce_tax_based_on' => 'billing',
    'woocommerce_tax_display_shop' => 'incl', 'woocommerce_tax_display_cart' => 'incl', 'woocommerce_default_customer_address' => 'base',
    'woocommerce_enable_reviews' => 'yes', 'woocommerce_review_rating_verification_required' => 'yes', 'woocommerce_manage_stock' => 'yes',
    'woocommerce_stock_format' => '', 'woocommerce_enable_ajax_add_to_cart' => 'yes', 'woocommerce_onboarding_profile' => array('skipped' => true),
    'comment_moderation' => '0', 'comment_previously_approved' => '0', 'users_can_register' => 1,
) as $name => $value) {
    update_option($name, $value);
}
WC_Install::create_pages();
delete_transient('_wc_activation_redirect');
WC()->shipping();
$zone = new WC_Shipping_Zone(0);
$zone->add_shipping_method('free_shipping');
foreach (array('GB' => '20.0000', 'CH' => '8.1000') as $country => $rate) {
    WC_Tax::_insert_tax_rate(array(
        'tax_rate_country' => $country, 'tax_rate_state' => '', 'tax_rate' => $rate, 'tax_rate_name' => 'VAT', 'tax_rate_priority' => 1,
        'tax_rate_compound' => 0, 'tax_rate_shipping' => 0, 'tax_rate_order' => 0, 'tax_rate_class' => ''));
}
$category = wp_insert_term('Kitchen', 'product_cat');
// With equal dates, the order of products in lists and links is undefined.
$date = time() - HOUR_IN_SECONDS;
$make = function ($name, $data) use ($category, &$date) {
    $product = new WC_Product_Simple();
    $date   += MINUTE_IN_SECONDS;
    $product->set_props(array_merge(array('name' => $name, 'status' => 'publish', 'regular_price' => '9.50', 'date_created' => $date, 'category_ids' => array($category['term_id'])), $data));
    return $product->save();
};
$pages = $products = array();
foreach (array('mug' => array(), 'cup' => array('manage_stock' => true, 'stock_quantity' => 400), 'lamp' => array('regular_price' => '30'), 'rug' => array('regular_price' => '80')) as $name => $data) {
    $products[$name] = $make(ucfirst($name), $data);
    $pages[$name] = get_permalink($products[$name]);
}
$texts = array(
    'products' => array('Products', '[products]'),
    'classic-cart' => array('Classic cart', '[woocommerce_cart]'),
    'classic-checkout' => array('Classic checkout', '[woocommerce_checkout]'),
    'second-account' => array('Second account', '[woocommerce_my_account]'),
    'blocks' => array('Shop blocks', '<!-- wp:woocommerce/mini-cart /--><!-- wp:woocommerce/customer-account /--><!-- wp:woocommerce/product-new /--><!-- wp:loginout /-->'),
);
foreach ($texts as $name => $text) {
    $pages[$name] = get_permalink(wp_insert_post(array('post_type' => 'page', 'post_status' => 'publish', 'post_name' => 'trial-' . $name, 'post_title' => $text[0], 'post_content' => $text[1])));
}
if (defined('ELEMENTOR_VERSION')) {
    update_option('elementor_onboarded', true);
    $id = wp_insert_post(array('post_type' => 'page', 'post_status' => 'publish', 'post_name' => 'trial-elementor', 'post_title' => 'Elementor'));
    $widget = array('id' => 'a1b2c3e', 'elType' => 'widget', 'widgetType' => 'shortcode', 'settings' => array('shortcode' => '[products limit="3"]'), 'elements' => array());
    $data = array(array('id' => 'a1b2c3d', 'elType' => 'container', 'settings' => array(), 'elements' => array($widget), 'isInner' => false));
    update_post_meta($id, '_elementor_edit_mode', 'builder');
    update_post_meta($id, '_elementor_version', ELEMENTOR_VERSION);
    update_post_meta($id, '_elementor_data', wp_slash(wp_json_encode($data)));
    $pages['elementor'] = get_permalink($id);
}
$pages += array('home' => '/', 'shop' => wc_get_page_permalink('shop'), 'cart' => wc_get_page_permalink('cart'), 'checkout' => wc_get_page_permalink('checkout'),
    'account' => wc_get_page_permalink('myaccount'), 'category' => get_term_link($category['term_id'], 'product_cat'), 'post' => get_permalink(get_posts(array('numberposts' => 1))[0]));
flush_rewrite_rules();
return array('pages' => array_map(function ($url) { return (string) wp_parse_url($url, PHP_URL_PATH); }, $pages), 'products' => $products);
