"""Paid Memberships Pro: levels, and posts that only members may read."""

import content
import entries

LEVEL = "/wp-admin/admin.php?page=pmpro-membershiplevels&edit=-1&template=free"


def pages(trial):
    trial.submit(LEVEL, lambda form: form.field("saveid") or form.field("level_name") or form.field("name"), {"name": "Gardeners", "description": "Digs."})
    trial.level = trial.site.evaluate("global $wpdb; return $wpdb->get_var(\"SELECT MAX(id) FROM $wpdb->pmpro_membership_levels\");")
    trial.secret = content.write_page(trial, "secret", "<p>The seed is below the third stone.</p>", "post")
    content.write_page(trial, "members", "[membership]For members.[/membership] [pmpro_levels]")


def _require(trial):
    screen = trial.admin.get(f"/wp-admin/post.php?post={trial.secret}&action=edit")
    if trial.level is None:
        raise entries.Skipped("there is no level")
    return entries.save_boxes(trial, trial.secret, {"page_levels[]": trial.level}) if entries.is_block_editor(screen) else entries.save_classic(
        trial, screen, {"page_levels[]": trial.level})


def change(trial):
    trial.change("a post becomes for members only", lambda: _require(trial))
    trial.change("name of a level", lambda: trial.submit(
        f"/wp-admin/admin.php?page=pmpro-membershiplevels&edit={trial.level}", lambda form: form.field("name"), {"name": "Diggers", "initial_payment": "25"}))
    trial.change("a post becomes public", lambda: entries.save_boxes(trial, trial.secret, {"page_levels[]": None}))
