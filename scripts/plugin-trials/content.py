"""Writes pages that show what a plugin registers, and collects the pages to compare."""

import json
import re
import urllib.parse

import entries
import forms
from trial import Skipped, quoted

MOST_SHORTCODES, MOST_BLOCKS, MOST_TYPES, MOST_WIDGETS, MOST_ENTRIES = 14, 12, 5, 6, 2
PERSONAL = re.compile(r"cart|checkout|account|log-?in|log-?out|register|basket|profile|password|purchase|receipt", re.I)


def add_core_pages(trial):
    """Adds pages that every site has."""
    urls = trial.site.evaluate(
        "$posts = get_posts(array('numberposts' => 3)); $page = get_page_by_path('about');"
        "return array('post' => get_permalink($posts[0]), 'second post' => get_permalink($posts[1]), 'page' => get_permalink($page),"
        "'category' => get_category_link(get_the_category($posts[0]->ID)[0]), 'tag' => get_tag_link(get_the_tags($posts[0]->ID)[0]),"
        "'author' => get_author_posts_url(1));")
    trial.add_page("/", "home")
    for label, url in urls.items():
        trial.add_page(url, label)
    trial.add_page("/feed/", "feed")
    trial.add_page("/wp-sitemap.xml", "sitemap")
    trial.add_page("/wp-sitemap-posts-post-1.xml", "sitemap of posts")


def new_names(trial, key):
    """Returns the names of a part of the registry that the plugin has added."""
    return [name for name in trial.after[key] if name not in trial.before[key]]


def create_entries(trial):
    """Creates two entries of each of the first types of posts that the plugin adds, as far as possible."""
    kinds = [kind for kind in new_names(trial, "types") if trial.after["types"][kind]["ui"]]
    for kind in kinds[:MOST_TYPES]:
        trial.entries[kind] = []
        for title in ("Juniper", "Larkspur")[:MOST_ENTRIES]:
            try:
                trial.entries[kind].append(entries.create(trial, kind, f"{title} {kind}"))
            except Skipped as reason:
                trial.notes.append(f"no entry of type {kind}: {reason}")
                break
        data = trial.after["types"][kind]
        for number in trial.entries[kind] if data["public"] else []:
            trial.add_page(entries.permalink(trial, number), f"{kind} {number}")
        if data["public"] and data["archive"]:
            trial.add_page(data["archive"], f"archive of {kind}")


def write_page(trial, name, content, kind="page"):
    """Writes a page of the site and adds it to the compared pages; returns its number."""
    data = json.dumps({"post_title": f"Trial {name}", "post_name": f"trial-{name}", "post_content": content,
                       "post_status": "publish", "post_type": kind})
    number = trial.site.evaluate(f"return wp_insert_post(wp_slash(json_decode({quoted(data)}, true)));")
    trial.add_page(entries.permalink(trial, number), name)
    return number


def write_shortcodes(trial):
    """Writes a page for each of the first shortcodes, without arguments and with the numbers of entries, and pages for groups of the others."""
    names = new_names(trial, "shortcodes")
    numbers = [entry[0] for entry in trial.entries.values() if entry]
    for name in names[:MOST_SHORTCODES]:
        lines = [f"[{name}]", *(f'[{name} id="{number}"]' for number in numbers[:2])]
        write_page(trial, "shortcode-" + re.sub(r"[^a-z0-9]+", "-", name.lower()), "\n\n".join(lines))
    rest = names[MOST_SHORTCODES:]
    for at in range(0, len(rest), 12):
        write_page(trial, f"shortcodes-{at}", "\n\n".join(f"[{name}]" for name in rest[at : at + 12]))


def write_blocks(trial):
    """Writes a page for each of the first dynamic blocks of the plugin, and one for all others; blocks that need a parent are omitted."""
    blocks = [name for name in new_names(trial, "blocks") if not trial.after["blocks"][name]["parent"]]
    dynamic = [name for name in blocks if trial.after["blocks"][name]["dynamic"]]
    for name in dynamic[:MOST_BLOCKS]:
        write_page(trial, "block-" + name.replace("/", "-"), f"<!-- wp:{name} /-->")
    rest = [name for name in blocks if name not in dynamic[:MOST_BLOCKS]]
    if rest:
        write_page(trial, "blocks", "\n".join(f"<!-- wp:{name} /-->" for name in rest))


def widget_form(trial, base, number, instance):
    """Returns the form of a widget with its present values."""
    data = {"instance": instance, "number": number}
    text = (entries.rest(trial, "POST", f"/wp/v2/widget-types/{base}/encode", data).json() or {}).get("form", "")
    return forms.parse(f"<form>{text}</form>")[0][0]


def widget_data(base, form, changes):
    """Returns the data with which the widget screen saves a form with changes."""
    changes = {**changes, **{field.name: "Hazel" for field in form.fields if field.name.endswith("[title]") and field.name not in changes}}
    return {"id_base": base, "sidebar": "sidebar-1", "form_data": urllib.parse.urlencode(form.pairs(changes))}


def add_widgets(trial):
    """Adds each widget of the plugin to the sidebar with the REST route of the widget screen; returns their names."""
    added = []
    for base in [base for base in trial.after["widgets"] if base not in trial.before["widgets"]][:MOST_WIDGETS]:
        try:
            form = widget_form(trial, base, 2, {})  # WordPress numbers them from 2.
            answer = entries.rest(trial, "POST", "/wp/v2/widgets", widget_data(base, form, {})).json() or {}
            entries.rest(trial, "GET", f"/wp/v2/widgets/{answer['id']}")
            added.append(answer["id"])
        except Skipped as reason:
            trial.notes.append(f"widget {base}: {reason}")
    return added


def add_pages_of_plugin(trial):
    """Adds the public pages that the plugin has created, except personal ones such as a cart or an account."""
    for number, url in trial.after["pages"].items():
        if number not in trial.before["pages"] and not PERSONAL.search(url):
            trial.add_page(url, f"page {number} of the plugin")
