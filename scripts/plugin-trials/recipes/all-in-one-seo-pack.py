"""All in One SEO: metadata and settings are changed with REST routes."""

import entries


def pages(trial):
    trial.post = trial.site.evaluate("return get_posts(array('numberposts' => 1))[0]->ID;")
    trial.add_page("/sitemap.xml", "sitemap index")
    trial.add_page("/post-sitemap.xml", "sitemap of posts")


def _options(trial):
    data = entries.rest(trial, "GET", "/aioseo/v1/options").json()
    options = data["options"]
    options["searchAppearance"]["global"]["siteTitle"] = "Home of herbs"
    options["searchAppearance"]["global"]["separator"] = "&raquo;"
    return entries.rest(trial, "POST", "/aioseo/v1/options", {"options": options})


def change(trial):
    trial.change("metadata of a post", lambda: entries.rest(trial, "POST", "/aioseo/v1/post", {
        "id": trial.post, "title": "A title of its own", "description": "About herbs.", "keyphrases": {}, "page_analysis": {}}))
    trial.change("settings", lambda: _options(trial))
