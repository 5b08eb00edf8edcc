"""WP-Polls: polls are created and edited with forms; visitors vote with scripts."""

import re

import content
from trial import Skipped


def pages(trial):
    trial.submit("/wp-admin/admin.php?page=wp-polls-add", lambda form: form.field("pollq_question"), {
        "pollq_question": "Which herb?", "polla_answers[]": "Sage", "pollq_expiry_no": "1"}, "do")
    trial.poll = trial.site.evaluate("global $wpdb; return $wpdb->get_var(\"SELECT MAX(pollq_id) FROM $wpdb->pollsq\");") or "1"
    content.write_page(trial, "poll", f'[poll id="{trial.poll}"]')
    content.write_page(trial, "poll-result", f'[poll id="{trial.poll}" type="result"]')
    content.write_page(trial, "polls", "[page_polls]")


def _screen(trial):
    return f"/wp-admin/admin.php?page=wp-polls&mode=edit&id={trial.poll}"


def _vote(trial):
    visitor = trial.site.visitor()
    page = visitor.get("/trial-poll/")
    if f'name="poll_{trial.poll}"' not in page.text:
        raise Skipped("the page has no form for a vote")
    nonce = re.search(rf'name="wp-polls-nonce" value="(\w+)"|id="poll_{trial.poll}_nonce"[^>]*value="(\w+)"', page.text)
    answer = re.search(rf'name="poll_{trial.poll}" value="(\d+)"', page.text)
    return trial.ajax("polls", {
        "view": "process", "poll_id": trial.poll, f"poll_{trial.poll}": answer.group(1), f"poll_{trial.poll}_nonce": next(filter(None, nonce.groups()))}, visitor)


def change(trial):
    is_editor = lambda form: form.field("pollq_question")  # noqa: E731
    trial.change("vote of a visitor", lambda: _vote(trial))
    trial.change("vote of another visitor", lambda: _vote(trial))
    trial.change("question of a poll", lambda: trial.submit(_screen(trial), is_editor, {"pollq_question": "Which tree?"}, "do"))
    trial.change("votes of an answer", lambda: trial.submit(_screen(trial), is_editor, {"pollq_totalvoters": "40"}, "do"))
    trial.change("closed poll", lambda: trial.ajax("polls-admin", {
        "do": "Close Poll", "pollq_id": trial.poll, "_ajax_nonce": trial.nonce("wp-polls_close-poll")}))
