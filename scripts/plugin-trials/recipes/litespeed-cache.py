"""LiteSpeed Cache: its lifetime of a week must not apply to pages with a nonce."""

import re

import content

DAY = 86_400


def pages(trial):
    (trial.site.root / "wp-content/mu-plugins/nonce.php").write_text(
        "<?php add_shortcode('case-nonce', function () { return '<input name=\"_wpnonce\" value=\"' . wp_create_nonce('case') . '\">'; });")
    content.write_page(trial, "nonce", "[case-nonce]")


def change(trial):
    for page in trial.pages.values():
        trial.purge(page)
        if page.answer.field("x-litespeed-cache-control") and page.answer.status == 200:
            trial.errors.append({"change": "header", "url": page.url, "status": 200, "error": "X-LiteSpeed-Cache-Control is sent to visitors"})
    for page in trial.pages.values():
        seconds = re.search(r"ttl=(\d+)", page.answer.field("cache-status"))
        most = DAY - 3600 if page.label == "nonce" else DAY
        if seconds and int(seconds.group(1)) > most:
            trial.errors.append({"change": "validity", "url": page.url, "status": 200, "error": f"valid for {seconds.group(1)} seconds"})
