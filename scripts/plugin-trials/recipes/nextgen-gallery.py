"""NextGEN Gallery: galleries and images are changed with REST routes."""

import base64

import content
import entries

PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


def pages(trial):
    entries.rest(trial, "POST", "/imagely/v1/galleries", {"title": "Meadows", "galdesc": "Grass."})
    trial.gallery = trial.site.evaluate("global $wpdb; return $wpdb->get_var(\"SELECT MAX(gid) FROM {$wpdb->prefix}ngg_gallery\");")
    _upload(trial)
    content.write_page(trial, "gallery", f'[nggallery id="{trial.gallery}"]')
    content.write_page(trial, "gallery-new", f'[ngg src="galleries" ids="{trial.gallery}" display="basic_thumbnail"]')


def _upload(trial):
    entries.nonce_of(trial)
    answer = trial.admin.post("/wp-json/imagely/v1/images/upload", [
        ("gallery_id", trial.gallery), ("file", ("meadow.png", "image/png", PIXEL))], True, {"X-WP-Nonce": trial.admin.nonce})
    if answer.status >= 400:
        raise entries.Skipped(f"upload: {answer.status} {answer.text[:160]}")
    return answer


def _image(trial):
    return trial.site.evaluate("global $wpdb; return $wpdb->get_var(\"SELECT MAX(pid) FROM {$wpdb->prefix}ngg_pictures\");")


def change(trial):
    trial.change("title of a gallery", lambda: entries.rest(trial, "PUT", f"/imagely/v1/galleries/{trial.gallery}", {"title": "Pastures", "galdesc": "Cows."}))
    trial.change("new image", lambda: _upload(trial))
    trial.change("text of an image", lambda: entries.rest(trial, "PUT", f"/imagely/v1/images/{_image(trial)}", {"alttext": "A meadow", "description": "Green."}))
    trial.change("deletion of an image", lambda: entries.rest(trial, "DELETE", f"/imagely/v1/images/{_image(trial)}"))
