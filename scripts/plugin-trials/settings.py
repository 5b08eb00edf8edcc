"""Changes the settings screens of a plugin: each form with a nonce is submitted with one changed field."""

import html
import re
import urllib.parse

import forms
from entries import changed_value
from trial import Skipped

MOST_SCREENS, MOST_TABS, MOST_FIELDS = 14, 4, 3
LISTS = re.compile(r"/(?:edit|edit-tags|post-new|plugin-install|plugins|customize|nav-menus|widgets)\.php")
RISKY = re.compile(r"delete|reset|uninstall|remove|purge|clear|licen[sc]e|password|secret|api|slug|base|redirect|debug|log|maintenance|"
                   r"coming|import|export|lock|block|deny|ban|restrict|_wp|option_page|^action|nonce|email|url|path|cron|schedule|cap|role|"
                   r"filter|orderby|paged|search|^s$|bulk|cb\[|post\[|test|code|script|css|multisite|ssl|https|hash", re.I)
LIKELY = re.compile(r"title|label|text|message|heading|button|show|display|name|count|number|per_page|limit|color|order|enable|position|style|format", re.I)


def menu(trial):
    """Returns the addresses of the menu of the back office."""
    text = trial.admin.get("/wp-admin/").text
    start, end = text.find('id="adminmenu"'), text.find('id="collapse-menu"')
    hrefs = [href for href, _ in forms.parse(text[start:end])[1]]
    return [urllib.parse.urljoin("/wp-admin/", html.unescape(href)) for href in hrefs if "://" not in href or "localhost" in href]


def screens(trial):
    """Returns the screens that the plugin has added to the menu of the back office."""
    added = [href for href in dict.fromkeys(menu(trial)) if href not in trial.menu and not LISTS.search(href)]
    return added[:MOST_SCREENS]


def _tabs(answer):
    page = urllib.parse.parse_qs(urllib.parse.urlsplit(answer.url).query).get("page")
    found = []
    for href, _ in forms.parse(answer.text)[1]:
        parts = urllib.parse.urlsplit(urllib.parse.urljoin(answer.url, href))
        query = urllib.parse.parse_qs(parts.query)
        is_tab = page and query.get("page") == page and {"tab", "section", "subtab", "subpage", "view"} & set(query)
        if is_tab and parts.hostname == "localhost" and not any("nonce" in name or name == "action" for name in query):
            found.append(parts._replace(fragment="").geturl())
    return [url for url in dict.fromkeys(found) if url != answer.url]


def candidates(trial, form):
    """Returns the controls of a form that may be changed, those whose value appears on a page first."""
    texts = "\n".join(page.answer.text for page in trial.pages.values() if page.answer)
    ranked = []
    for field in form.fields:
        kinds = {"text", "textarea", "number", "checkbox", "select", "tel"}
        if not field.name or field.kind not in kinds or RISKY.search(field.name) or (field.kind == "select" and len(field.options) < 2):
            continue
        is_text = field.kind in ("text", "textarea")
        shown = is_text and len(field.value) > 2 and (html.escape(field.value) in texts or field.value in texts)
        ranked.append((0 if shown else 1 if LIKELY.search(field.name) else 2, field))
    ranked.sort(key=lambda item: item[0])
    return [field for _, field in ranked]


def chosen_fields(trial, form):
    """Returns at most MOST_FIELDS controls of different kinds."""
    chosen, kinds = [], set()
    for field in candidates(trial, form):
        kind = "text" if field.kind in ("textarea", "tel") else field.kind
        if kind not in kinds:
            kinds.add(kind)
            chosen.append(field)
    return chosen[:MOST_FIELDS]


def submit(trial, url, index, name):
    """Submits a form of a screen with one changed control; returns the response."""
    answer = trial.admin.get(url)
    found = nonce_forms(answer)
    if len(found) <= index:
        raise Skipped("the form is gone")
    form = found[index]
    field = form.field(name)
    buttons = form.submits()
    saves = [button for button in buttons if re.search(r"save|submit|update", button.name + button.value, re.I)]
    pairs = form.pairs({name: changed_value(field)}, (saves or buttons or [None])[0])
    result = trial.admin.post(form.target(answer.url), pairs, form.is_multipart())
    if result.status == 403 or "link you followed has expired" in result.text:
        raise Skipped(f"refused: {result.status}")
    return result


def nonce_forms(answer):
    """Returns the forms of a screen that are sent by POST with a nonce."""
    return [form for form in forms.parse(answer.text)[0] if form.method == "post" and form.has_nonce() and form.id != "adv-settings"]


def _places(trial):
    """Yields the screens of the plugin and their tabs, each once."""
    seen = set()
    for url in screens(trial):
        screen = trial.admin.get(url)
        for place in [screen, *(trial.admin.get(tab) for tab in _tabs(screen)[:MOST_TABS] if trial.admin.path(tab) not in seen)]:
            if trial.admin.path(place.url) not in seen:
                seen.add(trial.admin.path(place.url))
                trial.check_screen(place)
                yield place


def change_screens(trial):
    """Changes each form of all screens of the plugin, and of their tabs."""
    forms_seen = set()
    for place in _places(trial):
        for index, form in enumerate(nonce_forms(place)):
            names = tuple(field.name for field in form.fields)
            for field in chosen_fields(trial, form) if names not in forms_seen else []:
                forms_seen.add(names)
                if not trial.has_time():
                    trial.notes.append(f"no time for the settings {place.url}")
                    return
                label = f"setting {field.name} at {trial.admin.path(place.url)}"
                trial.change(label, lambda p=place.url, i=index, n=field.name: submit(trial, p, i, n))
