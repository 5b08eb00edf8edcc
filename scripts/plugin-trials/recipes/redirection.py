"""Redirection: rules and settings are changed with REST routes."""

import entries


def _rule(source, target, **more):
    return {"url": source, "match_data": {"source": {"flag_query": "exact", "flag_case": False, "flag_trailing": False, "flag_regex": False}},
            "action_data": {"url": target}, "action_type": "url", "match_type": "url", "action_code": 301, "group_id": 1, "title": "", **more}


def prepare(trial):
    trial.site.evaluate("include_once dirname(REDIRECTION_FILE) . '/database/database.php'; Red_Database::get_latest_database()->install(); "
                        "red_set_options(array('database' => REDIRECTION_DB_VERSION)); return 1;")


def pages(trial):
    entries.rest(trial, "POST", "/redirection/v1/redirect", _rule("/old-place/", "/about/"))
    trial.add_page("/old-place/", "redirect")
    trial.add_page("/colophon/", "page that gets a redirect")
    trial.add_page("/missing-place/", "missing page")


def _first(trial):
    items = (entries.rest(trial, "GET", "/redirection/v1/redirect?per_page=25").json() or {}).get("items", [])
    return next(item for item in items if item["url"] == "/old-place/")


def change(trial):
    trial.change("new redirect of a page", lambda: entries.rest(trial, "POST", "/redirection/v1/redirect", _rule("/colophon/", "/contact/")))
    trial.change("new redirect of a missing page", lambda: entries.rest(trial, "POST", "/redirection/v1/redirect", _rule("/missing-place/", "/contact/")))
    trial.change("target of a redirect", lambda: entries.rest(
        trial, "POST", f"/redirection/v1/redirect/{_first(trial)['id']}", {**_first(trial), "action_data": {"url": "/contact/"}}))
    trial.change("code of a redirect", lambda: entries.rest(
        trial, "POST", f"/redirection/v1/redirect/{_first(trial)['id']}", {**_first(trial), "action_code": 302}))
    trial.change("disabled redirect", lambda: entries.rest(
        trial, "POST", "/redirection/v1/bulk/redirect/disable", {"items": [str(_first(trial)["id"])]}))
    trial.change("settings", lambda: entries.rest(trial, "POST", "/redirection/v1/setting", {"expire_404": 14, "cache_key": 0, "redirect_cache": 1}))
