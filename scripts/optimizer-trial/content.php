// Creates the content of scripts/try-optimizer: images, posts with blocks and shortcodes, comments, a page with a form. Returns the paths of its pages.
require_once ABSPATH . 'wp-admin/includes/image.php';
wp_set_current_user(1);
mt_srand(7);
update_option('show_on_front', 'posts');
update_option('posts_per_page', 5);
update_option('thread_comments', 1);
update_option('show_avatars', 0);

// An image with a gradient and rectangles, as JPEG, and its smaller sizes.
$draw = function ($name, $width, $height) {
    $image = imagecreatetruecolor($width, $height);
    for ($y = 0; $y < $height; $y++) {
        imageline($image, 0, $y, $width, $y, imagecolorallocate($image, 40 + intdiv(180 * $y, $height), mt_rand(90, 110), 200 - intdiv(150 * $y, $height)));
    }
    for ($number = 0; $number < 24; $number++) {
        $x = mt_rand(0, $width);
        $y = mt_rand(0, $height);
        imagefilledrectangle($image, $x, $y, $x + mt_rand(20, 300), $y + mt_rand(20, 200), imagecolorallocate($image, mt_rand(0, 255), mt_rand(0, 255), mt_rand(0, 255)));
    }
    $folder = wp_upload_dir();
    $file   = "{$folder['path']}/$name.jpg";
    imagejpeg($image, $file, 82);
    $id = wp_insert_attachment(array('post_mime_type' => 'image/jpeg', 'post_title' => ucfirst($name), 'post_status' => 'inherit'), $file);
    wp_update_attachment_metadata($id, wp_generate_attachment_metadata($id, $file));
    update_post_meta($id, '_wp_attachment_image_alt', "Picture of a $name");
    return $id;
};
$images = array();
foreach (array('harbour' => array(1600, 1000), 'orchard' => array(1200, 1500), 'bridge' => array(1400, 900), 'meadow' => array(900, 900), 'lantern' => array(640, 420)) as $name => $size) {
    $images[$name] = $draw($name, $size[0], $size[1]);
}
$image = function ($name, $more = '', $caption = '') use ($images) {
    $id   = $images[$name];
    $url  = wp_get_attachment_image_url($id, 'large');
    $text = $caption ? "<figcaption class=\"wp-element-caption\">$caption</figcaption>" : '';
    return "<!-- wp:image {\"id\":$id,\"sizeSlug\":\"large\",\"linkDestination\":\"none\"$more} -->\n<figure class=\"wp-block-image size-large\">"
        . "<img src=\"$url\" alt=\"Picture of a $name\" class=\"wp-image-$id\"/>$text</figure>\n<!-- /wp:image -->\n";
};
$paragraph = function ($text) { return "<!-- wp:paragraph -->\n<p>$text</p>\n<!-- /wp:paragraph -->\n"; };
$heading   = function ($text) { return "<!-- wp:heading -->\n<h2 class=\"wp-block-heading\">$text</h2>\n<!-- /wp:heading -->\n"; };
$long      = 'A sentence with <strong>strong</strong>   and <em>emphasised</em> words, <a href="/about/">a link</a>, <code>inline   code</code>, and <kbd>Ctrl</kbd> + <kbd>C</kbd>. '
    . str_repeat('The tide turned slowly, and the boats in the harbour swung round with it. ', 3);

$blocks = $paragraph($long) . $image('harbour', '', 'The harbour in the <em>evening</em>') . $heading('Columns and a table')
    . "<!-- wp:columns -->\n<div class=\"wp-block-columns\"><!-- wp:column -->\n<div class=\"wp-block-column\">" . $paragraph($long) . "</div>\n<!-- /wp:column -->\n\n<!-- wp:column -->\n"
    . '<div class="wp-block-column">' . $image('meadow') . "</div>\n<!-- /wp:column --></div>\n<!-- /wp:columns -->\n"
    . "<!-- wp:table -->\n<figure class=\"wp-block-table\"><table class=\"has-fixed-layout\"><thead><tr><th>Day</th><th>High</th><th>Low</th></tr></thead>"
    . "<tbody><tr><td>Monday</td><td>4.1  m</td><td>0.7 m</td></tr><tr><td>Tuesday</td><td>4.3 m</td><td>0.5 m</td></tr></tbody></table></figure>\n<!-- /wp:table -->\n"
    . $heading('Code') . "<!-- wp:code -->\n<pre class=\"wp-block-code\"><code>function tide(hour) {\n    if (hour &lt; 6) {\n\n        return   \"low\";\n    }\n\treturn \"high\"; // a tab\n}</code></pre>\n<!-- /wp:code -->\n"
    . "<!-- wp:preformatted -->\n<pre class=\"wp-block-preformatted\">  one\n    two      three\n\n\n  four</pre>\n<!-- /wp:preformatted -->\n"
    . "<!-- wp:verse -->\n<pre class=\"wp-block-verse\">The   sea\n      the sea</pre>\n<!-- /wp:verse -->\n"
    . "<!-- wp:quote -->\n<blockquote class=\"wp-block-quote\">" . $paragraph('Time and tide wait for no one.') . "<cite>A proverb</cite></blockquote>\n<!-- /wp:quote -->\n"
    . "<!-- wp:buttons -->\n<div class=\"wp-block-buttons\"><!-- wp:button -->\n<div class=\"wp-block-button\"><a class=\"wp-block-button__link wp-element-button\" href=\"/about/\">Read on</a></div>\n<!-- /wp:button -->\n\n"
    . "<!-- wp:button {\"className\":\"is-style-outline\"} -->\n<div class=\"wp-block-button is-style-outline\"><a class=\"wp-block-button__link wp-element-button\" href=\"/contact/\">Write to us</a></div>\n<!-- /wp:button --></div>\n<!-- /wp:buttons -->\n"
    . $heading('A gallery') . "<!-- wp:gallery {\"linkTo\":\"none\"} -->\n<figure class=\"wp-block-gallery has-nested-images columns-default is-cropped\">"
    . $image('orchard') . $image('bridge') . $image('meadow') . $image('lantern') . "</figure>\n<!-- /wp:gallery -->\n"
    . "<!-- wp:list -->\n<ul class=\"wp-block-list\"><!-- wp:list-item -->\n<li>First</li>\n<!-- /wp:list-item -->\n\n<!-- wp:list-item -->\n<li>Second, with <mark>a mark</mark></li>\n<!-- /wp:list-item --></ul>\n<!-- /wp:list -->\n"
    . "<!-- wp:separator -->\n<hr class=\"wp-block-separator has-alpha-channel-opacity\"/>\n<!-- /wp:separator -->\n"
    . "<!-- wp:media-text {\"mediaId\":{$images['bridge']},\"mediaType\":\"image\"} -->\n<div class=\"wp-block-media-text is-stacked-on-mobile\"><figure class=\"wp-block-media-text__media\"><img src=\""
    . wp_get_attachment_image_url($images['bridge'], 'full') . "\" alt=\"\" class=\"wp-image-{$images['bridge']} size-full\"/></figure><div class=\"wp-block-media-text__content\">" . $paragraph($long) . "</div></div>\n<!-- /wp:media-text -->\n"
    . "<!-- wp:cover {\"url\":\"" . wp_get_attachment_image_url($images['harbour'], 'full') . "\",\"id\":{$images['harbour']},\"dimRatio\":50} -->\n<div class=\"wp-block-cover\"><span aria-hidden=\"true\" class=\"wp-block-cover__background has-background-dim\"></span>"
    . "<img class=\"wp-block-cover__image-background wp-image-{$images['harbour']}\" alt=\"\" src=\"" . wp_get_attachment_image_url($images['harbour'], 'full') . "\" data-object-fit=\"cover\"/><div class=\"wp-block-cover__inner-container\">" . $paragraph('A cover') . "</div></div>\n<!-- /wp:cover -->\n"
    . "<!-- wp:details -->\n<details class=\"wp-block-details\"><summary>More</summary>" . $paragraph('Hidden at first.') . "</details>\n<!-- /wp:details -->\n"
    . "<!-- wp:latest-posts {\"postsToShow\":3,\"displayPostDate\":true} /-->\n<!-- wp:search {\"label\":\"Search\",\"buttonText\":\"Search\"} /-->\n<!-- wp:social-links -->\n<ul class=\"wp-block-social-links\"><!-- wp:social-link {\"url\":\"https://example.org/\",\"service\":\"chain\"} /--></ul>\n<!-- /wp:social-links -->\n"
    . $image('lantern', ',"lightbox":{"enabled":true}') . "<!-- wp:pullquote -->\n<figure class=\"wp-block-pullquote\"><blockquote><p>Slow is smooth.</p></blockquote></figure>\n<!-- /wp:pullquote -->\n";

$size    = wp_get_attachment_image_src($images['orchard'], 'medium');
$classic = "$long\n\n[caption id=\"attachment_{$images['orchard']}\" align=\"alignleft\" width=\"{$size[1]}\"]<img class=\"wp-image-{$images['orchard']} size-medium\" src=\"{$size[0]}\" alt=\"\" width=\"{$size[1]}\" height=\"{$size[2]}\" /> An orchard[/caption]\n\n"
    . "$long\n\n$long\n\n<h3>A list</h3>\n<ol>\n \t<li>One</li>\n \t<li>Two\n<ul>\n \t<li>Two and a half</li>\n</ul>\n</li>\n</ol>\n<blockquote>Quoted,\nin two lines</blockquote>\n<pre>  pre\n\tformatted\n\n   text</pre>\n"
    . "<!--more-->\n\n[gallery ids=\"" . implode(',', array_slice(array_values($images), 0, 4)) . "\" columns=\"3\"]\n\n<dl><dt>Term</dt><dd>Definition</dd></dl>\n<table><tr><td>A</td><td>B</td></tr></table>\n<p style=\"white-space: pre\">kept    spaces\n   here</p>\n<address>Quay 4</address>\n<q>short quote</q> <del>deleted</del> <sup>up</sup><sub>down</sub>";
$form = $paragraph($long) . "<!-- wp:html -->\n<form class=\"contact\" action=\"/contact/\" method=\"post\">\n  <p><label for=\"name\">Name</label> <input id=\"name\" name=\"visitor\" type=\"text\" placeholder=\"Your   name\"></p>\n"
    . "  <p><label>Mail <input name=\"mail\" type=\"email\" required></label></p>\n  <fieldset><legend>Kind</legend> <label><input type=\"radio\" name=\"kind\" checked> Question</label> <label><input type=\"radio\" name=\"kind\"> Order</label>\n"
    . "  <label><input type=\"checkbox\" name=\"copy\"> Send a copy</label></fieldset>\n  <p><select name=\"topic\"><option>Tides</option><option selected>Boats</option></select> <input type=\"date\" name=\"day\"> <input type=\"range\" name=\"size\"></p>\n"
    . "  <p><textarea name=\"text\" rows=\"5\" cols=\"40\">  Dear   all,\n\n    kind regards</textarea></p>\n  <p><button type=\"submit\">Send</button> <input type=\"reset\" value=\"Clear\"> <progress value=\"0.4\"></progress></p>\n</form>\n<!-- /wp:html -->\n";
if (class_exists('WPCF7_ContactForm')) {
    $forms = get_posts(array('post_type' => 'wpcf7_contact_form', 'numberposts' => 1));
    $form .= $forms ? "<!-- wp:shortcode -->\n[contact-form-7 id=\"{$forms[0]->ID}\"]\n<!-- /wp:shortcode -->\n" : '';
}

$category = get_term_by('slug', 'rivers', 'category')->term_id;
$write = function ($title, $content, $days, $type = 'post') use ($category) {
    $date = gmdate('Y-m-d H:i:s', time() - $days * DAY_IN_SECONDS);
    return wp_insert_post(wp_slash(array('post_title' => $title, 'post_content' => $content, 'post_status' => 'publish', 'post_type' => $type, 'post_date' => $date, 'post_date_gmt' => $date,
        'comment_status' => 'post' === $type ? 'open' : 'closed', 'post_category' => array($category), 'tags_input' => 'post' === $type ? array('tide', 'harbour') : array())));
};
$posts = array('blocks' => $write('Blocks of every kind', $blocks, 1), 'classic' => $write('A classic post', $classic, 2), 'short' => $write('A short note', $paragraph($long), 3));
$page  = $write('Write to us', $form, 4, 'page');
set_post_thumbnail($posts['blocks'], $images['harbour']);
set_post_thumbnail($posts['classic'], $images['orchard']);
set_post_thumbnail($posts['short'], $images['bridge']);
foreach (array('blocks', 'classic') as $name) {
    $parent = 0;
    foreach (array('Ada', 'Brendan', 'Chika', 'Dora') as $number => $author) {
        $date   = gmdate('Y-m-d H:i:s', time() - (20 - $number) * HOUR_IN_SECONDS);
        $parent = wp_insert_comment(array('comment_post_ID' => $posts[$name], 'comment_author' => $author, 'comment_author_email' => 'reader@example.org', 'comment_content' => "Comment $number with <code>a   b</code>.\n\nSecond paragraph.",
            'comment_approved' => 1, 'comment_parent' => $number % 3 ? $parent : 0, 'comment_date' => $date, 'comment_date_gmt' => $date));
    }
}
update_option('sticky_posts', array($posts['short']));
$menu = wp_create_nav_menu('Main');
$add  = function ($title, $url, $parent = 0) use ($menu) {
    return wp_update_nav_menu_item($menu, 0, array('menu-item-title' => $title, 'menu-item-url' => $url, 'menu-item-status' => 'publish', 'menu-item-type' => 'custom', 'menu-item-parent-id' => $parent));
};
$add('Home', '/');
$rivers = $add('Rivers', '/category/rivers/');
$deep   = $add('Harbours', '/tag/harbour/', $rivers);
$add('Piers', '/tag/tide/', $deep);
$add('Gardens', '/category/gardens/', $rivers);
$add('About', '/about/');
$add('Write', get_permalink($page));
return array_map(function ($url) { return (string) wp_parse_url($url, PHP_URL_PATH); }, array('home' => '/', 'blocks' => get_permalink($posts['blocks']), 'classic' => get_permalink($posts['classic']),
    'form' => get_permalink($page), 'archive' => get_term_link($category, 'category')));
