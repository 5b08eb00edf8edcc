"""BuddyPress: activities, profiles and groups."""

import entries


def prepare(trial):
    trial.site.evaluate(
        "$all = array('activity' => 1, 'members' => 1, 'groups' => 1, 'xprofile' => 1, 'settings' => 1, 'friends' => 1); bp_update_option('bp-active-components', $all);"
        "require_once buddypress()->plugin_dir . 'bp-core/admin/bp-core-admin-schema.php'; bp_core_install($all); bp_core_add_page_mappings($all); return 1;")
    trial.site.evaluate("flush_rewrite_rules(); return 1;")


def pages(trial):
    for path in ("/activity/", "/members/", "/groups/", "/members/admin/", "/members/admin/profile/"):
        trial.add_page(path, path)


def change(trial):
    post = lambda: entries.rest(trial, "POST", "/buddypress/v1/activity", {"content": "Planted garlic.", "type": "activity_update", "component": "activity"})  # noqa: E731
    trial.change("new activity", post)
    trial.change("new group", lambda: entries.rest(trial, "POST", "/buddypress/v1/groups", {"name": "Growers", "description": "Grow.", "creator_id": 1, "status": "public"}))
    trial.change("name of a group", lambda: entries.rest(trial, "PUT", "/buddypress/v1/groups/1", {"name": "Reapers"}))
    trial.change("field of a profile", lambda: entries.rest(trial, "PUT", "/buddypress/v1/xprofile/1/data/1", {"value": "Gardener"}))
    trial.change("new member", lambda: trial.site.evaluate("return wp_insert_user(array('user_login' => 'newcomer', 'user_pass' => 'x', 'display_name' => 'New Comer'));"))
    trial.change("deletion of an activity", lambda: entries.rest(trial, "DELETE", "/buddypress/v1/activity/1"))
