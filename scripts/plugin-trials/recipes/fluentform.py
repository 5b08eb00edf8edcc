"""Fluent Forms: forms are edited with REST routes; visitors send them with scripts."""

import json
import urllib.parse

import content
import entries


def _routes(trial):
    return "/fluentform/v1/forms"


def _form(trial):
    return entries.rest(trial, "GET", f"/fluentform/v1/forms/{trial.form}").json()


def _save(trial, old, new):
    form = _form(trial)
    form = form.get("form", form)
    fields = form["form_fields"] if isinstance(form["form_fields"], str) else json.dumps(form["form_fields"])
    return entries.rest(trial, "POST", f"/fluentform/v1/forms/{trial.form}", {
        "form_id": trial.form, "title": form["title"], "status": "published", "formFields": fields.replace(old, new)})


def pages(trial):
    answer = entries.rest(trial, "POST", "/fluentform/v1/forms", {"type": "basic_contact_form", "predefined": "basic_contact_form"}).json()
    trial.form = answer.get("formId") or answer.get("form_id") or answer["id"]
    content.write_page(trial, "form", f'[fluentform id="{trial.form}"]')
    content.write_page(trial, "form-info", f'[fluentform_info id="{trial.form}" info="submission_count"]')


def _send(trial):
    visitor = trial.site.visitor()
    page = visitor.get("/trial-form/")
    form = content.forms.find(page.text, lambda form: "frm-fluent-form" in form.attributes.get("class", ""))
    changes = {"names[first_name]": "Ann", "names[last_name]": "Reed", "email": "ann@example.org", "subject": "Herbs", "message": "Hello"}
    data = urllib.parse.urlencode([pair for pair in form.pairs({name: value for name, value in changes.items() if form.field(name)})])
    return trial.ajax("fluentform_submit", {"data": data, "form_id": trial.form}, visitor)


def change(trial):
    trial.change("label of a field", lambda: _save(trial, "Subject", "Matter"))
    trial.change("text of the button", lambda: _save(trial, "Submit Form", "Send it"))
    trial.change("entry of a visitor", lambda: _send(trial))
    trial.change("deletion of a form", lambda: entries.rest(trial, "DELETE", f"/fluentform/v1/forms/{trial.form}"))
