// Creates the visitors of scripts/try-shop. $people: mark, role, password, country and postcode of each.
// Each gets a hidden product and a coupon with its mark, and a user account if it has a role. Returns the numbers of the products by mark.
$products = array();
foreach ($people as $person) {
    $mark = $person['mark'];
    $product = new WC_Product_Simple();
    $product->set_props(array('name' => 'Box ' . $mark, 'slug' => 'box-' . $mark, 'status' => 'publish', 'regular_price' => '7', 'catalog_visibility' => 'hidden'));
    $products[$mark] = $product->save();
    $coupon = new WC_Coupon();
    $coupon->set_props(array('code' => 'code' . $mark, 'discount_type' => 'percent', 'amount' => 10));
    $coupon->save();
    if ($person['role']) {
        $id = wp_insert_user(array('user_login' => 'user' . $mark, 'user_pass' => $person['password'], 'user_email' => $mark . '@example.org',
            'first_name' => 'First' . $mark, 'last_name' => 'Last' . $mark, 'display_name' => 'Name' . $mark, 'role' => $person['role']));
        if ($person['country']) {
            foreach (array('first_name' => 'First' . $mark, 'last_name' => 'Last' . $mark, 'address_1' => 'Street ' . $mark, 'city' => 'Town', 'postcode' => $person['postcode'],
                'country' => $person['country'], 'email' => $mark . '@example.org', 'phone' => '01130000000') as $field => $value) {
                update_user_meta($id, 'billing_' . $field, $value);
                if ($field !== 'email' && $field !== 'phone') {
                    update_user_meta($id, 'shipping_' . $field, $value);
                }
            }
        }
    }
}
return $products;
