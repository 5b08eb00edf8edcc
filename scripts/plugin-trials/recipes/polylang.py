"""Polylang: languages, translated posts and strings."""

import entries

SCREEN = "/wp-admin/admin.php?page=mlang"


def _add(trial, name, locale, slug, group):
    return trial.submit(SCREEN, lambda form: form.field("pll_action") and form.field("locale"), {
        "name": name, "locale": locale, "slug": slug, "rtl": "0", "term_group": str(group), "flag": ""}, "submit")


def prepare(trial):
    _add(trial, "English", "en_US", "en", 0)
    _add(trial, "Deutsch", "de_DE", "de", 1)
    # Without 'lang' => '', only objects that already have a language would be found.
    trial.site.evaluate("foreach (array('post', 'page') as $type) foreach (get_posts(array('post_type' => $type, 'numberposts' => -1, 'lang' => '')) as $post) "
                        "pll_set_post_language($post->ID, 'en'); foreach (get_terms(array('taxonomy' => array('category', 'post_tag'), 'hide_empty' => false, "
                        "'lang' => '')) as $term) pll_set_term_language($term->term_id, 'en'); flush_rewrite_rules(); return 1;")


def pages(trial):
    trial.post = trial.site.evaluate("return get_posts(array('numberposts' => 1))[0]->ID;")
    trial.add_page("/de/", "home in German")


def _translate(trial):
    number = entries.rest(trial, "POST", "/wp/v2/posts", {"title": "Der Garten", "content": "<p>Text.</p>", "status": "publish"}).json()["id"]
    trial.site.evaluate(f"pll_set_post_language({number}, 'de'); pll_save_post_translations(array('en' => {trial.post}, 'de' => {number})); return 1;")


def change(trial):
    trial.change("translation of a post", lambda: _translate(trial))
    trial.change("name of a language", lambda: trial.submit(
        f"{SCREEN}&pll_action=edit&lang=" + str(trial.site.evaluate("return PLL()->model->get_language('de')->term_id;")),
        lambda form: form.field("locale"), {"name": "Schwizer"}, "submit"))
