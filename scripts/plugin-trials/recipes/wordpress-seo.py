"""Yoast SEO: metadata with the meta box of posts, settings with a form of scripts."""

import entries


def pages(trial):
    trial.post = trial.site.evaluate("return get_posts(array('numberposts' => 1))[0]->ID;")
    trial.add_page("/sitemap_index.xml", "sitemap index")
    trial.add_page("/post-sitemap.xml", "sitemap of posts")


def _settings(trial):
    data = {"option_page": "wpseo_page_settings", "action": "update", "_wpnonce": trial.nonce("wpseo_page_settings-options"),
            "wpseo_titles[title-post]": "%%title%% by the trial", "wpseo_titles[website_name]": "Home of herbs",
            "wpseo_titles[separator]": "sc-pipe"}
    return trial.admin.post("/wp-admin/options.php", data)


def change(trial):
    trial.change("metadata of a post", lambda: entries.save_boxes(trial, trial.post, {
        "yoast_wpseo_title": "A title of its own", "yoast_wpseo_metadesc": "About herbs."}))
    trial.change("post is excluded from indexes", lambda: entries.save_boxes(trial, trial.post, {"yoast_wpseo_meta-robots-noindex": "1"}))
    trial.change("settings", lambda: _settings(trial))
