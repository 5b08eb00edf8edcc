"""Creates, edits and deletes posts of any type through their edit screens."""

import json
import re

import forms
from trial import Skipped

NONCE = re.compile(r'createNonceMiddleware\(\s*"([0-9a-f]+)"')
BOXES_URL = re.compile(r'_wpMetaBoxUrl\s*=\s*("(?:[^"\\]|\\.)*")')
TEXT = "<p>Rowan and thistle grow beside the canal.</p>"
KEEP = re.compile(r"^(?:_wp|_ajax|action|originalaction|post_|original_|hidden_|visibility|sticky|aa|mm|jj|hh|mn|ss|cur_|user_ID|meta-box|closedpost|"
                  r"samplepermalink|screen|referredby|auto_draft|newcategory|comment|ping|save|publish|trackback|excerpt|content|meta\[|metakey)|"
                  r"nonce|delete|remove|template|password|noindex|redirect|expire|slug", re.I)


def nonce_of(trial):
    """Returns the nonce of the administrator for REST routes, from a screen of the block editor."""
    if not trial.admin.nonce:
        found = NONCE.search(trial.admin.get("/wp-admin/post-new.php").text)
        trial.admin.nonce = found.group(1) if found else ""
    return trial.admin.nonce


def rest(trial, method, route, data=None):
    """Sends a REST request as the block editor does; raises Skipped if it is refused."""
    nonce_of(trial)
    answer = trial.admin.rest(method, route, data)
    if answer.status >= 400:
        raise Skipped(f"{method} {route}: {answer.status} {answer.text[:160]}")
    return answer


def _editor(trial, address):
    answer = trial.admin.get(address)
    if answer.status != 200:
        raise Skipped(f"{address}: {answer.status}")
    return answer


def is_block_editor(answer):
    """Returns True if a screen is the block editor."""
    return "block-editor-page" in answer.text and bool(NONCE.search(answer.text))


def save_classic(trial, answer, changes):
    """Submits the classic form of an edit screen with changed fields; returns the response."""
    form = forms.find(answer.text, lambda form: form.id == "post")
    if form is None:
        raise Skipped("the screen has no form for the post")
    buttons = {button.name: button for button in form.submits()}
    button = buttons.get("publish") or buttons.get("save")
    pairs = form.pairs({name: value for name, value in changes.items() if form.field(name) or name == "content"}, button)
    return trial.admin.post(form.target(answer.url), pairs, form.is_multipart())


def create(trial, kind, title):
    """Creates a published post of a type with its edit screen; returns its number."""
    screen = _editor(trial, f"/wp-admin/post-new.php?post_type={kind}")
    route = trial.after["types"].get(kind, {}).get("rest", "")
    if is_block_editor(screen) and route:
        data = {"title": title, "content": f"<!-- wp:paragraph -->{TEXT}<!-- /wp:paragraph -->", "status": "publish", "excerpt": "Thistle."}
        number = (rest(trial, "POST", route, data).json() or {}).get("id", 0)
        save_boxes(trial, number, {})
        return number
    answer = save_classic(trial, screen, {"post_title": title, "content": TEXT, "excerpt": "Thistle."})
    found = re.search(r"post=(\d+)", answer.field("location"))
    if not found:
        raise Skipped(f"not created: {answer.status} {answer.field('location')}")
    return int(found.group(1))


def edit(trial, kind, number, changes):
    """Changes fields of a post (post_title, content, excerpt) with its edit screen; returns the response."""
    screen = _editor(trial, f"/wp-admin/post.php?post={number}&action=edit")
    route = trial.after["types"].get(kind, {}).get("rest", "")
    if is_block_editor(screen) and route:
        names = {"post_title": "title", "content": "content", "excerpt": "excerpt"}
        return rest(trial, "POST", f"{route}/{number}", {names[name]: value for name, value in changes.items()})
    return save_classic(trial, screen, changes)


def _box_forms(text):
    return [form for form in forms.parse(text)[0] if "metabox-" in form.attributes.get("class", "")]


def save_boxes(trial, number, changes):
    """Submits the meta boxes of the block editor as it does; returns the response, or None if there are none."""
    screen = _editor(trial, f"/wp-admin/post.php?post={number}&action=edit")
    address, found = BOXES_URL.search(screen.text), _box_forms(screen.text)
    if not address or len(found) < 2:
        return None
    pairs = [pair for form in found for pair in form.pairs({n: v for n, v in changes.items() if form.field(n)})]
    return trial.admin.post(json.loads(address.group(1)), pairs, True)


def changed_value(field):
    """Returns another value for a control as a user would enter it; None to submit the control without a value."""
    if field is None:
        raise Skipped("the field is gone")
    if field.kind == "checkbox":
        return None if field.is_on else field.value
    if field.kind in ("select", "radio"):
        others = [value for value in field.options if value not in field.chosen and value not in ("", "0", "-1")]
        return others[0] if others else field.value
    if field.kind == "number" or re.fullmatch(r"\d{1,6}", field.value):
        number = int(field.value) if re.fullmatch(r"\d{1,6}", field.value) else 3
        most = field.attributes.get("max", "")
        return str(number - 1 if re.fullmatch(r"\d+", most) and number >= int(most) else number + 1)
    return (field.value + " amended").strip()


def box_changes(fields):
    """Returns changed values for the fields of meta boxes: texts, selections and the first checkbox, at most 25."""
    changes, boxes = {}, 0
    for field in fields:
        if not field.name or KEEP.search(field.name) or field.kind in ("hidden", "submit", "file", "radio", "email", "url", "date", "password"):
            continue
        boxes += field.kind == "checkbox"
        if field.kind != "checkbox" or boxes <= 1:
            changes[field.name] = changed_value(field)
    return dict(list(changes.items())[:25])


def edit_boxes(trial, number):
    """Changes the fields of the meta boxes of a post; returns the response."""
    screen = _editor(trial, f"/wp-admin/post.php?post={number}&action=edit")
    if is_block_editor(screen):
        changes = box_changes([field for form in _box_forms(screen.text) for field in form.fields])
        answer = save_boxes(trial, number, changes) if changes else None
    else:
        form = forms.find(screen.text, lambda form: form.id == "post")
        changes = box_changes(form.fields) if form else {}
        answer = save_classic(trial, screen, changes) if changes else None
    if answer is None:
        raise Skipped("the screen has no meta boxes with fields")
    return answer


def trash(trial, kind, number):
    """Moves a post to the trash with the link of its edit screen or the REST route; returns the response."""
    screen = _editor(trial, f"/wp-admin/post.php?post={number}&action=edit")
    links = [href for href, _ in forms.parse(screen.text)[1] if "action=trash" in href]
    if links:
        return trial.admin.send("GET", links[0])
    route = trial.after["types"].get(kind, {}).get("rest", "")
    if not route:
        raise Skipped("the screen has no link to the trash")
    return rest(trial, "DELETE", f"{route}/{number}")


def permalink(trial, number):
    """Returns the address of a post."""
    return trial.site.evaluate(f"return get_permalink({int(number)});")
