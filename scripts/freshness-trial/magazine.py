"""Site of 200 posts for scripts/try-freshness, and the addresses of its pages."""

import re
import secrets

from trial import quoted
from trial_site import Site

POSTS = 200
PASSWORD_BYTES = 8
# WordPress creates a post with the styles of the theme, and options, when these screens are opened for the first time.
FIRST_SCREENS = ("/wp-admin/", "/wp-admin/post-new.php", "/wp-admin/site-editor.php")
SITEMAP_ENTRY = re.compile(r"<loc>([^<]+)</loc>")
MORE_POSTS = """
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
wp_upgrade();
$old = get_posts(array('numberposts' => -1));
for ($number = count($old); $number < %d; $number++) {
    $like = $old[$number %% 60];
    $date = gmdate('Y-m-d H:i:s', strtotime('2025-06-01 08:00:00 UTC') + $number * 86400);
    wp_insert_post(array('post_title' => $like->post_title . ' ' . $number, 'post_content' => $like->post_content . %s, 'post_status' => 'publish',
        'post_date' => $date, 'post_date_gmt' => $date, 'post_category' => wp_get_post_categories($like->ID), 'comment_status' => 'open',
        'tags_input' => wp_get_post_tags($like->ID, array('fields' => 'names'))));
}
update_option('comment_moderation', 1);
return count(get_posts(array('numberposts' => -1)));
"""


class Magazine:
    """Site with a theme and plugins, and its staff."""

    def __init__(self, folder, options):
        self.options, self.site, self.paths, self.last_views = options, Site(folder, options), [], {}

    def create(self, plugins=(), text=""):
        """Creates the site with posts that end with a text, and activates plugins from their folders."""
        self.site.create()
        theme = self.site.add_theme(self.options.theme)
        self.site.evaluate(f"switch_theme({quoted(theme)}); return 1;")
        for folder in plugins:
            self.site.add_plugin(folder)
        self.site.evaluate(MORE_POSTS % (POSTS, quoted(text)))
        self.open_first_screens()
        return self

    def open_first_screens(self):
        """Opens screens of the back office that change the site when they are opened for the first time."""
        administrator = self.site.administrator()
        for screen in FIRST_SCREENS:
            administrator.get(screen)

    def find_pages(self):
        """Finds all public pages: those of the sitemaps, and further pages of the home page. The most popular ones are first."""
        visitor = self.site.bystander()
        maps = SITEMAP_ENTRY.findall(visitor.get("/wp-sitemap.xml").text)
        found = [visitor.path(url) for one in maps for url in SITEMAP_ENTRY.findall(visitor.get(one).text)]
        posts = self.site.evaluate("return array_map('get_permalink', get_posts(array('numberposts' => -1)));")
        newest = list(dict.fromkeys(visitor.path(url) for url in posts))
        lists = [path for path in found if path not in newest and path != "/"]
        further = [f"/page/{number}/" for number in range(2, 12)]
        self.paths = ["/", *newest[:10], "/feed/", *lists[:10], *newest[10:], *lists[10:], *further]
        return self.paths

    def add_editor(self, name, role):
        """Creates a user and returns a visitor that is logged in as this user."""
        password = secrets.token_hex(PASSWORD_BYTES)
        data = f"array('user_login' => {quoted(name)}, 'user_pass' => {quoted(password)}, 'user_email' => '{name}@example.org', 'role' => '{role}')"
        self.site.evaluate(f"return wp_insert_user({data});")
        return self.site.visitor().log_in(name, password)
