<?php
// Uses one style sheet file for all blocks (which browsers cache) instead of a style element per block, and no emoji script.
// The home page then has the size used for the project's measurements: about 41 KB, 7 KB with gzip.

add_filter('should_load_separate_core_block_assets', '__return_false', 20); // after block themes have enabled it
remove_action('wp_head', 'print_emoji_detection_script', 7);
remove_action('wp_print_styles', 'print_emoji_styles');
