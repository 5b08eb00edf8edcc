"""Rank Math: metadata and settings are changed with REST routes."""

import entries


def prepare(trial):
    trial.site.evaluate("update_option('rank_math_wizard_completed', true); update_option('rank_math_registration_skip', true); "
                        "update_option('rank_math_is_configured', true); delete_option('rank_math_redirect_about'); return 1;")


def pages(trial):
    trial.post = trial.site.evaluate("return get_posts(array('numberposts' => 1))[0]->ID;")
    trial.add_page("/sitemap_index.xml", "sitemap index")
    trial.add_page("/post-sitemap.xml", "sitemap of posts")


def change(trial):
    trial.change("metadata of a post", lambda: entries.rest(trial, "POST", "/rankmath/v1/updateMeta", {
        "objectID": trial.post, "objectType": "post", "meta": {"rank_math_title": "A title of its own", "rank_math_description": "About herbs."}, "content": ""}))
    trial.change("post is excluded from indexes", lambda: entries.rest(trial, "POST", "/rankmath/v1/updateMeta", {
        "objectID": trial.post, "objectType": "post", "meta": {"rank_math_robots": ["noindex"]}, "content": ""}))
    trial.change("settings of titles", lambda: entries.rest(trial, "POST", "/rankmath/v1/updateSettings", {
        "type": "titles", "settings": {"title_separator": "|", "homepage_title": "Home of herbs", "pt_post_title": "%title% by the trial"},
        "fieldTypes": {}, "updated": ["title_separator", "homepage_title", "pt_post_title"]}))
