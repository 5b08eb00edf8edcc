"""Changes that are tried with every plugin."""

import json
import re

import content
import entries
import forms
import settings
from content import new_names
from trial import Skipped, quoted

SETTINGS_ROUTE = re.compile(r"^/(?!wp/v2|oembed|wp-site-health|wp-block-editor|batch)[\w/.-]*(?:settings|options|config)[\w/.-]*$")
EXTRA_TIME = 60  # Seconds after the deadline in which terms and widgets are still changed.
OWN_FORMS = re.compile(r"commentform|search|login|lostpassword", re.I)


def change_core(trial):
    """Changes posts, comments, terms and users."""
    posts = trial.site.evaluate("return wp_list_pluck(get_posts(array('numberposts' => 4)), 'ID');")
    term = trial.site.evaluate(f"return get_the_category({posts[0]})[0]->term_id;")
    trial.change("title of a post", lambda: entries.edit(trial, "post", posts[0], {"post_title": "Renamed by the trial"}))
    trial.change("content of a post", lambda: entries.edit(trial, "post", posts[1], {"content": "<p>Amended by the trial.</p>"}))
    trial.change("comment of a visitor", lambda: comment(trial, posts[0]))
    trial.change("new post", lambda: entries.rest(trial, "POST", "/wp/v2/posts", {
        "title": "Published by the trial", "content": "<p>New.</p>", "status": "publish", "categories": [term]}))
    trial.change("name of a category", lambda: entries.rest(trial, "POST", f"/wp/v2/categories/{term}", {"name": "Renamed category"}))
    trial.change("name of a user", lambda: entries.rest(trial, "POST", "/wp/v2/users/1", {"name": "Renamed Author", "description": "Writes."}))
    trial.change("trash of a post", lambda: entries.rest(trial, "DELETE", f"/wp/v2/posts/{posts[2]}"))


def comment(trial, number):
    """Writes a comment as an anonymous visitor with the form on the page; returns the response."""
    visitor = trial.site.visitor()
    page = visitor.get(entries.permalink(trial, number))
    form = forms.find(page.text, lambda form: form.attributes.get("action", "").endswith("wp-comments-post.php"))
    if form is None:
        raise Skipped("the page has no form for comments")
    changes = {"comment": "A remark about thistles.", "author": "Visitor", "email": "visitor@example.org", "wp-comment-cookies-consent": None}
    return visitor.post(form.target(page.url), form.pairs(changes))


def change_entries(trial):
    """Edits the entries of the plugin's types of posts, and deletes one of each."""
    for kind, numbers in trial.entries.items():
        if not numbers or not trial.has_time(10):
            continue
        first, last = numbers[0], numbers[-1]
        trial.change(f"title of a {kind}", lambda k=kind, n=first: entries.edit(trial, k, n, {"post_title": f"Sorrel {k}"}))
        trial.change(f"content of a {kind}", lambda k=kind, n=first: entries.edit(trial, k, n, {"content": "<p>Amended entry.</p>"}))
        trial.change(f"meta boxes of a {kind}", lambda n=first: entries.edit_boxes(trial, n))
        if len(numbers) > 1:
            trial.change(f"trash of a {kind}", lambda k=kind, n=last: entries.trash(trial, k, n))


def change_post_boxes(trial):
    """Changes the meta boxes that the plugin adds to posts."""
    number = trial.site.evaluate("return get_posts(array('numberposts' => 1))[0]->ID;")
    trial.change("meta boxes of a post", lambda: entries.edit_boxes(trial, number))


def change_terms(trial):
    """Creates and renames a term in each taxonomy of the plugin with the screens of terms."""
    names = [name for name in new_names(trial, "taxonomies") if trial.after["taxonomies"][name]["ui"]]
    for name in names[:4]:
        if not trial.has_time(-EXTRA_TIME):
            trial.notes.append(f"no time for the terms of {name}")
            continue
        kinds = trial.after["taxonomies"][name]["types"]
        kind = kinds[0] if kinds else "post"
        address = f"/wp-admin/edit-tags.php?taxonomy={name}&post_type={kind}"
        trial.change(f"new term of {name}", lambda a=address: _submit_term(trial, a, "addtag", {"tag-name": "Bramble"}))
        number = trial.site.evaluate(f"$t = get_term_by('name', 'Bramble', {quoted(name)}); return $t ? $t->term_id : 0;")
        if not number:
            continue
        for entry in trial.entries.get(kind, [])[:1]:
            trial.change(f"term {name} of an entry", lambda n=entry, x=name, t=number: trial.site.evaluate(
                f"return wp_set_object_terms({n}, array({t}), {quoted(x)});"))
        edit = f"/wp-admin/term.php?taxonomy={name}&tag_ID={number}&post_type={kind}"
        trial.change(f"name of a term of {name}", lambda a=edit: _submit_term(trial, a, "edittag", {"name": "Bracken"}))


def _submit_term(trial, address, form_id, changes):
    page = trial.admin.get(address)
    form = forms.find(page.text, lambda form: form.id == form_id)
    if form is None:
        raise Skipped(f"the screen has no form {form_id}")
    return trial.admin.post(form.target(page.url), form.pairs(changes, (form.submits() or [None])[0]))


def change_widgets(trial, names):
    """Changes the widgets that were added to the sidebar."""
    for name in names:
        base, _, number = name.rpartition("-")
        if not trial.has_time(-EXTRA_TIME):
            trial.notes.append(f"no time for the widget {base}")
            continue
        trial.change(f"widget {base}", lambda n=name, b=base, i=number: _save_widget(trial, n, b, i))


def _save_widget(trial, name, base, number):
    widget = entries.rest(trial, "GET", f"/wp/v2/widgets/{name}?context=edit").json() or {}
    form = content.widget_form(trial, base, int(number), widget.get("instance", {}))
    changes = {**entries.box_changes(form.fields), **{field.name: "Elder" for field in form.fields if field.name.endswith("[title]")}}
    return entries.rest(trial, "PUT", f"/wp/v2/widgets/{name}", content.widget_data(base, form, changes))


def change_rest_settings(trial):
    """Changes one value of each REST route of the plugin that returns settings."""
    routes = [route for route, methods in trial.after["routes"].items() if route not in trial.before["routes"] and SETTINGS_ROUTE.match(route)
              and "GET" in methods and {"POST", "PUT"} & set(methods)]
    for route in routes[:6]:
        if trial.has_time(5):
            method = "POST" if "POST" in trial.after["routes"][route] else "PUT"
            trial.change(f"REST settings {route}", lambda r=route, m=method: _save_route(trial, r, m))


def _save_route(trial, route, method):
    data = entries.rest(trial, "GET", route).json()
    changed = _with_changed_leaf(data)
    if changed is None:
        raise Skipped("the route returns no text or switch")
    return entries.rest(trial, method, route, json.loads(json.dumps(data)))


def _with_changed_leaf(data):
    """Changes the first text with spaces, else the first switch, in parsed JSON; returns its name, or None."""
    places = list(_leaves(data))
    texts = [place for place in places if isinstance(place[2], str) and re.search(r"\w \w", place[2])]
    switches = [place for place in places if isinstance(place[2], bool)]
    for parent, key, value in [*texts, *switches][:1]:
        parent[key] = value + " amended" if isinstance(value, str) else not value
        return str(key)
    return None


def _leaves(data):
    pairs = list(data.items()) if isinstance(data, dict) else list(enumerate(data)) if isinstance(data, list) else []
    for key, value in pairs:
        if isinstance(value, (dict, list)):
            yield from _leaves(value)
        else:
            yield data, key, value


def submit_forms(trial):
    """Submits the forms on all pages as an anonymous visitor, except those of WordPress; each form only once."""
    seen = set()
    for page in list(trial.pages.values()):
        for index, form in enumerate(forms.parse(page.answer.text)[0]):
            key = (form.id, form.attributes.get("class", ""), form.attributes.get("action", "").split("?")[0])
            if form.method != "post" or OWN_FORMS.search(" ".join(key)) or key in seen or not trial.has_time(3):
                continue
            seen.add(key)
            trial.change(f"form {form.id or index} of {page.url} by a visitor", lambda p=page, i=index: _submit_form(trial, p, i))


def _submit_form(trial, page, index):
    visitor = trial.site.visitor()
    answer = visitor.get(page.url)
    found = forms.parse(answer.text)[0]
    if len(found) <= index:
        raise Skipped("the form is gone")
    form, changes = found[index], {}
    for field in form.fields:
        if field.kind == "email" or "email" in field.name:
            changes[field.name] = "visitor@example.org"
        elif field.kind in ("text", "textarea", "tel", "url") and not field.value:
            changes[field.name] = "https://example.org/" if field.kind == "url" else "Thistle"
    radios = {field.name: field.value for field in reversed(form.fields) if field.kind == "radio"}
    return visitor.post(form.target(answer.url), form.pairs({**radios, **changes}, (form.submits() or [None])[0]), form.is_multipart())


def change_all(trial, widgets, with_core):
    """Makes all changes, those of WordPress itself if `with_core` is set; later ones are omitted if the time is over."""
    if with_core:
        change_core(trial)
    change_entries(trial)
    change_post_boxes(trial)
    change_terms(trial)
    change_widgets(trial, widgets)
    submit_forms(trial)
    change_rest_settings(trial)
    settings.change_screens(trial)
