<?php
// Must-use plugin for scripts/try-shop: products in a fixed order, so that pages can be compared.

add_filter('woocommerce_product_related_posts_shuffle', '__return_false');
