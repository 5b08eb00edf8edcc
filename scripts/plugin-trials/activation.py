"""Activates and deactivates plugins with the plugins screen of the back office."""

import re
import urllib.parse

import forms
from trial import Skipped


def _link(trial, name, action):
    screen = trial.admin.get("/wp-admin/plugins.php")
    for href, _ in forms.parse(screen.text)[1]:
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(href).query)
        if query.get("action") == [action] and query.get("plugin", [""])[0].split("/")[0] in (name, name + ".php"):
            return urllib.parse.urljoin("/wp-admin/plugins.php", href)
    raise Skipped(f"the plugins screen has no link to {action} {name}")


def activate(trial, name):
    """Activates a plugin, and opens the screen that it redirects to; raises RuntimeError if the plugin is not active afterwards."""
    answer = trial.admin.get(_link(trial, name, "activate"))
    try:
        _link(trial, name, "deactivate")
    except Skipped:
        message = re.search(r'<div[^>]+class="[^"]*(?:error|wp-die-message)[^"]*"[^>]*>(.*?)</div>', answer.text, re.S)
        text = re.sub(r"<[^>]+>|\s+", " ", message.group(1))[:200] if message else answer.url
        raise RuntimeError(f"{name} cannot be activated: {answer.status} {text} {trial.site.last_error()}") from None
    return answer


def open_screens(trial):
    """Opens the dashboard until the plugin no longer redirects to a wizard."""
    for _ in range(3):
        answer = trial.admin.get("/wp-admin/")
        trial.check_screen(answer)
        if urllib.parse.urlsplit(answer.url).path.rstrip("/") in ("/wp-admin", "/wp-admin/index.php"):
            return
        trial.notes.append(f"the plugin opens {trial.admin.path(answer.url)}")


def deactivate(trial, name):
    """Deactivates a plugin; returns the response."""
    return trial.admin.send("GET", _link(trial, name, "deactivate"))
