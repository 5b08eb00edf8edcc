"""BuddyPress: activities, profiles and groups."""

import entries

SCREEN = "/wp-admin/options-general.php?page=bp-components"


def prepare(trial):
    components = {f"bp_components[{name}]": "1" for name in ("activity", "groups", "friends", "xprofile", "settings", "notifications")}
    trial.submit(SCREEN, lambda form: form.field("bp_components[groups]"), components, "bp-admin-component-submit")


def pages(trial):
    trial.group = entries.rest(trial, "POST", "/buddypress/v1/groups", {
        "name": "Growers", "description": "Grow.", "creator_id": 1, "status": "public"}).json()[0]["id"]
    for path in ("/activity/", "/members/", "/groups/", "/groups/growers/", "/groups/growers/members/", "/members/admin/", "/members/admin/profile/"):
        trial.add_page(path, path)


def _say(trial, **more):
    return entries.rest(trial, "POST", "/buddypress/v1/activity", {"content": "Planted garlic.", "type": "activity_update", "component": "activity", **more})


def _delete(trial):
    number = entries.rest(trial, "GET", "/buddypress/v1/activity?type=activity_update").json()[0]["id"]
    return entries.rest(trial, "DELETE", f"/buddypress/v1/activity/{number}")


def change(trial):
    trial.change("new activity", lambda: _say(trial))
    trial.change("new activity in a group", lambda: _say(trial, component="groups", primary_item_id=trial.group))
    trial.change("name of a group", lambda: entries.rest(trial, "PUT", f"/buddypress/v1/groups/{trial.group}", {"name": "Reapers", "description": "Reap."}))
    trial.change("new group", lambda: entries.rest(trial, "POST", "/buddypress/v1/groups", {
        "name": "Sowers", "description": "Sow.", "creator_id": 1, "status": "public"}))
    trial.change("field of a profile", lambda: entries.rest(trial, "PUT", "/buddypress/v1/xprofile/1/data/1", {"value": "Gardener"}))
    trial.change("new member", lambda: entries.rest(trial, "POST", "/wp/v2/users", {
        "username": "newmember", "password": "trial-Password-9", "email": "new@example.org", "name": "New Member"}))
    trial.change("member of a group", lambda: entries.rest(trial, "POST", f"/buddypress/v1/groups/{trial.group}/members", {"user_id": 2}))
    trial.change("deletion of an activity", lambda: _delete(trial))
    trial.change("deletion of a group", lambda: entries.rest(trial, "DELETE", f"/buddypress/v1/groups/{trial.group}"))
