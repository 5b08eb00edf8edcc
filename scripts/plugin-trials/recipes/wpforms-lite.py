"""WPForms: forms are edited with a builder of scripts; visitors send them to the page."""

import json

import content
import forms


def prepare(trial):
    trial.site.evaluate("update_option('wpforms_activation_redirect', true); delete_transient('wpforms_activation_redirect'); return 1;")


def _save(trial, label, title="Survey"):
    data = [("id", trial.form), ("field_id", "2"), ("settings[form_title]", title), ("settings[form_desc]", ""), ("settings[submit_text]", "Send"),
            ("settings[submit_text_processing]", "Sending"), ("settings[antispam_v3]", "0"), ("settings[ajax_submit]", "0"),
            ("settings[confirmations][1][type]", "message"), ("settings[confirmations][1][message]", "Thank you."),
            ("fields[1][id]", "1"), ("fields[1][type]", "text"), ("fields[1][label]", label), ("fields[1][size]", "medium")]
    pairs = [{"name": name, "value": value} for name, value in data]
    return trial.ajax("wpforms_save_form", {"nonce": trial.nonce("wpforms-builder"), "id": trial.form, "data": json.dumps(pairs)})


def pages(trial):
    answer = trial.ajax("wpforms_new_form", {"nonce": trial.nonce("wpforms-builder"), "title": "Survey", "template": "blank"})
    trial.form = str(answer.json()["data"]["id"])
    _save(trial, "Favourite herb")
    content.write_page(trial, "form", f'[wpforms id="{trial.form}" title="true"]')
    content.write_page(trial, "form-block", f'<!-- wp:wpforms/form-selector {{"formId":"{trial.form}"}} /-->')


def _send(trial):
    visitor = trial.site.visitor()
    page = visitor.get("/trial-form/")
    form = forms.find(page.text, lambda form: "wpforms-form" in form.attributes.get("class", ""))
    return visitor.post(form.target(page.url), form.pairs({"wpforms[fields][1]": "Sage"}, form.submits()[0]), True)


def change(trial):
    trial.change("label of a field", lambda: _save(trial, "Favourite tree"))
    trial.change("title of a form", lambda: _save(trial, "Favourite tree", "Census"))
    trial.change("entry of a visitor", lambda: _send(trial))
    trial.change("trash of a form", lambda: trial.admin.send(
        "GET", f"/wp-admin/admin.php?page=wpforms-overview&action=trash&form_id={trial.form}&_wpnonce=" + trial.nonce("wpforms_trash_form_nonce")))
