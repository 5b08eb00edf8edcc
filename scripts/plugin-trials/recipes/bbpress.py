"""bbPress: topics and replies with the forms on the pages."""

import entries
from content import write_page


def pages(trial):
    trial.forum = trial.entries.get("forum", [0])[0]
    trial.topic = trial.site.evaluate(f"return bbp_insert_topic(array('post_parent' => {trial.forum}, 'post_title' => 'Compost'), array('forum_id' => {trial.forum}));")
    trial.add_page(entries.permalink(trial, trial.topic), "topic")
    for name in ("forum-index", "topic-index", f"single-forum id={trial.forum}", f"single-topic id={trial.topic}", "stats"):
        write_page(trial, "bbp-" + name.split()[0], f"[bbp-{name}]")


def change(trial):
    forum, topic = entries.permalink(trial, trial.forum), entries.permalink(trial, trial.topic)
    trial.change("new topic", lambda: trial.submit(forum, lambda form: form.id == "new-post" and form.field("bbp_topic_title"), {
        "bbp_topic_title": "Worms", "bbp_topic_content": "Are they useful?"}))
    trial.change("new reply", lambda: trial.submit(topic, lambda form: form.id == "new-post" and form.field("bbp_reply_content"), {
        "bbp_reply_content": "Yes, they are."}))
    trial.change("title of a topic", lambda: entries.edit(trial, "topic", trial.topic, {"post_title": "Compost heaps"}))
    trial.change("title of a forum", lambda: entries.edit(trial, "forum", trial.forum, {"post_title": "Soil"}))
    trial.change("trash of a topic", lambda: entries.trash(trial, "topic", trial.topic))
