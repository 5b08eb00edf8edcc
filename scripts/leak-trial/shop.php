// Creates the products of the shop that scripts/try-leaks crawls. Returns their number.
foreach (array('woocommerce_coming_soon' => 'no', 'woocommerce_currency' => 'EUR', 'woocommerce_onboarding_profile' => array('skipped' => true)) as $name => $value) {
    update_option($name, $value);
}
WC_Install::create_pages();
$words = array('walnut', 'copper', 'linen', 'oak', 'steel', 'glass', 'cotton', 'marble', 'leather', 'bamboo');
$things = array('board', 'kettle', 'apron', 'chair', 'lamp', 'vase', 'towel', 'clock', 'basket', 'mirror', 'shelf', 'tray');
foreach ($words as $word) {
    $category = wp_insert_term(ucfirst($word), 'product_cat');
    foreach ($things as $number => $thing) {
        $product = new WC_Product_Simple();
        $product->set_props(array('name' => ucfirst("$word $thing"), 'status' => 'publish', 'regular_price' => (string) (10 + 3 * $number), 'category_ids' => array($category['term_id']),
            'description' => "A $thing of $word, made to order. Each $thing is checked before it leaves the workshop."));
        $product->save();
    }
}
flush_rewrite_rules();
return count($words) * count($things);
