"""Contact Form 7: forms on a separate screen, sent by a REST route."""

import content

SQL = "return get_posts(array('post_type' => 'wpcf7_contact_form', 'numberposts' => 1))[0]->ID;"


def _screen(trial):
    return f"/wp-admin/admin.php?page=wpcf7&post={trial.form}&action=edit"


def _is_editor(form):
    return form.id == "wpcf7-admin-form-element"


def pages(trial):
    trial.form = trial.site.evaluate(SQL)
    content.write_page(trial, "form", f'[contact-form-7 id="{trial.form}" title="Contact"]')
    content.write_page(trial, "form-in-post", f'[contact-form-7 id="{trial.form}"]', "post")


def _send(trial):
    visitor = trial.site.visitor()
    page = visitor.get("/trial-form/")
    form = content.forms.find(page.text, lambda form: "wpcf7-form" in form.attributes.get("class", ""))
    data = form.pairs({"your-name": "Visitor", "your-email": "visitor@example.org", "your-subject": "Thistle", "your-message": "Hello"})
    return visitor.post(f"/wp-json/contact-form-7/v1/contact-forms/{trial.form}/feedback", data, True)


def change(trial):
    text = '<label> Colour of the door [text* door-colour] </label>\n[submit "Send it"]'
    trial.change("edit of a form", lambda: trial.submit(_screen(trial), _is_editor, {"wpcf7-form": text, "action": "save"}))
    trial.change("title of a form", lambda: trial.submit(_screen(trial), _is_editor, {"post_title": "Renamed form", "action": "save"}))
    trial.change("message of a visitor", lambda: _send(trial))
    trial.change("additional settings of a form", lambda: trial.submit(_screen(trial), _is_editor, {"wpcf7-additional-settings": "demo_mode: on", "action": "save"}))
