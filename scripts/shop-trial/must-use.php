<?php
// Must-use plugin for scripts/try-shop: products in a fixed order, so that pages can be compared.

add_filter('woocommerce_product_related_posts_shuffle', '__return_false');
add_filter('woocommerce_output_related_products_args', function ($args) {
    return array_merge($args, array('orderby' => 'id', 'order' => 'asc'));
}, PHP_INT_MAX);
