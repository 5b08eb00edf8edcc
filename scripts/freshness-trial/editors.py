"""Editors who work in the back office as the scripts of its screens do: heartbeats, autosaves, publications, uploads and comments."""

import json
import random
import re
import struct
import time
import zlib

from entries import NONCE

HEARTBEAT = re.compile(r'heartbeatSettings\s*=\s*\{[^}]*"nonce":"([0-9a-f]+)"')
POST_NUMBER = re.compile(r"initializeEditor\(\s*'editor',\s*\"\w+\",\s*(\d+)")
LOCK = re.compile(r'"activePostLock":"([\d:]+)"')
APPROVE_LINK = re.compile(r"comment\.php\?action=approvecomment&(?:#038;|amp;)c=(\d+)&(?:#038;|amp;)_wpnonce=([0-9a-f]+)")
BEATS_PER_CYCLE, HEARTBEAT_SECONDS, BEATS_PER_AUTOSAVE = 15, 15, 4
# In each sequence of this many cycles, an editor publishes one post and otherwise updates posts: two new posts in an hour.
CYCLES_PER_PUBLICATION, CYCLE_WITH_TITLE = 6, 3
WORDS = "harbour lantern meadow orchard pebble quarry ribbon saddle thicket umber valley willow".split()


class Failed(Exception):
    """Raised if WordPress rejects a request of an editor."""


def picture(rng, width=640, height=480):
    """Returns a PNG image of random stripes."""
    lines = b"".join(b"\0" + bytes(rng.randrange(256) for _ in range(3)) * width for _ in range(height))

    def chunk(kind, content):
        return struct.pack("!I", len(content)) + kind + content + struct.pack("!I", zlib.crc32(kind + content))

    head = struct.pack("!IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


class Editor:
    """User of the back office. `desk` contains the site, and compares pages after each change."""

    def __init__(self, name, visitor, seed, desk):
        self.name, self.visitor, self.desk, self.rng = name, visitor, desk, random.Random(seed)
        self.heartbeat, self.lock, self.number, self.cycles = "", "", 0, self.rng.randrange(CYCLES_PER_PUBLICATION)
        self.changes_menu = False

    def work(self):
        """Works until the time is over: a cycle of about four minutes for each post, a comment or a menu in between."""
        self._pause(self.rng.random() * BEATS_PER_CYCLE * HEARTBEAT_SECONDS)
        while not self.desk.is_over():
            self.cycles += 1
            for part in (self.moderate, self.write, self.edit_menu):
                try:
                    part()
                except Exception as error:  # noqa: BLE001 -- the editor continues with other work.
                    self.desk.note_failure(self.name, error)

    def _pause(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.desk.is_over():
            time.sleep(min(1, max(0, until - time.monotonic())))

    def _screen(self, address):
        answer = self.visitor.get(address)
        self.desk.count("screens")
        if answer.status != 200:
            raise Failed(f"{address}: {answer.status}")
        for pattern, name in ((HEARTBEAT, "heartbeat"), (LOCK, "lock")):
            found = pattern.search(answer.text)
            setattr(self, name, found.group(1) if found else getattr(self, name))
        found = NONCE.search(answer.text)
        self.visitor.nonce = found.group(1) if found else self.visitor.nonce
        return answer.text

    def _rest(self, method, route, data=None):
        answer = self.visitor.rest(method, route, data)
        if answer.status >= 400:
            raise Failed(f"{method} {route}: {answer.status} {answer.text[:200]}")
        return answer.json()

    def _ajax(self, data):
        answer = self.visitor.post("/wp-admin/admin-ajax.php", data, fields={"X-Requested-With": "XMLHttpRequest"})
        if answer.status >= 400 or answer.text in ("0", "-1"):
            raise Failed(f"{data['action']}: {answer.status} {answer.text[:100]}")
        return answer

    def _beat(self, number):
        data = {"action": "heartbeat", "_nonce": self.heartbeat, "interval": "15", "screen_id": "post", "has_focus": "true",
                "data[wp-refresh-post-lock][post_id]": number, "data[wp-refresh-post-lock][lock]": self.lock}
        self._ajax(data)
        self.desk.count("heartbeats")

    def _text(self):
        words = " ".join(self.rng.choices(WORDS, k=30))
        return f"<!-- wp:paragraph --><p>{words} {self.rng.randrange(10**6)}</p><!-- /wp:paragraph -->"

    def write(self):
        """Writes a new post or updates one, with autosaves, and saves it at the end."""
        self._screen("/wp-admin/edit.php")
        is_new = self.cycles % CYCLES_PER_PUBLICATION == 0
        if is_new:
            number = int(POST_NUMBER.search(self._screen("/wp-admin/post-new.php")).group(1))
            title = f"{' '.join(self.rng.choices(WORDS, k=3)).title()} {number}"
            data = {"content": self._text(), "title": title, "categories": [self.desk.choose_category(self.rng)]}
            self._rest("POST", f"/wp/v2/posts/{number}", {**data, "status": "draft"})
        else:
            number = self.desk.choose_post(self.rng)
            self._screen(f"/wp-admin/post.php?post={number}&action=edit")
            post = self._rest("GET", f"/wp/v2/posts/{number}?context=edit")
            data = {"content": post["content"]["raw"]}
            if self.cycles % CYCLES_PER_PUBLICATION == CYCLE_WITH_TITLE:
                data["title"] = f"{post['title']['raw']} {self.rng.choice(WORDS)}"
        for beat in range(BEATS_PER_CYCLE):
            self._pause(HEARTBEAT_SECONDS)
            if self.desk.is_over():
                return
            self._beat(number)
            if beat % BEATS_PER_AUTOSAVE == BEATS_PER_AUTOSAVE - 1:
                data["content"] += self._text()
                self._rest("POST", f"/wp/v2/posts/{number}/autosaves", {"id": number, **data})
                self.desk.count("autosaves")
        if is_new:
            data["featured_media"] = self._upload(number)
        kind = "publication" if is_new else "update"
        saved = self.desk.change(kind, lambda: self._rest("POST", f"/wp/v2/posts/{number}", {**data, "status": "publish"}), lambda saved: saved["link"])
        self.visitor.get(saved["link"])
        self._ajax({"action": "wp-remove-post-lock", "_wpnonce": self._unlock_nonce(number), "post_ID": number, "active_post_lock": self.lock})

    def _unlock_nonce(self, number):
        found = re.search(r'"unlockNonce":"([0-9a-f]+)"', self._screen(f"/wp-admin/post.php?post={number}&action=edit"))
        return found.group(1) if found else ""

    def _upload(self, number):
        name = f"picture-{number}.png"
        fields = {"X-WP-Nonce": self.visitor.nonce, "Content-Type": "image/png", "Content-Disposition": f'attachment; filename="{name}"'}
        answer = self.visitor.send("POST", f"/wp-json/wp/v2/media?post={number}", picture(self.rng), fields)
        if answer.status != 201:
            raise Failed(f"upload: {answer.status} {answer.text[:200]}")
        self.desk.count("uploads")
        return answer.json()["id"]

    def moderate(self):
        """Approves the latest comment that awaits moderation."""
        text = self._screen("/wp-admin/edit-comments.php?comment_status=moderated")
        found = APPROVE_LINK.search(text)
        if not found:
            self.desk.count("visits without a comment to approve")
            return
        number, nonce = found.groups()
        data = {"action": "dim-comment", "id": number, "dimClass": "unapproved", "new": "approved", "_ajax_nonce": nonce, "comment_status": "moderated"}
        self.desk.change("approved comment", lambda: self._ajax(data), lambda _: self.desk.page_of_comment(number))

    def edit_menu(self):
        """Adds a link to the menu of the block theme, if the desk has requested it."""
        if not (self.changes_menu and self.desk.takes_menu_change()):
            return
        self._screen("/wp-admin/site-editor.php")
        menus = self._rest("GET", "/wp/v2/navigation?context=edit")
        link = {"label": f"Link {self.rng.randrange(1000)}", "url": "/about/", "kind": "custom"}
        content = menus[0]["content"]["raw"] + f"<!-- wp:navigation-link {json.dumps(link)} /-->"
        self.desk.change("menu", lambda: self._rest("POST", f"/wp/v2/navigation/{menus[0]['id']}", {"content": content}), lambda _: "/about/")


def comment_form(number, rng):
    """Returns the fields of a visitor's comment."""
    return {"comment": f"{' '.join(rng.choices(WORDS, k=8))} {rng.randrange(10**6)}", "author": rng.choice(WORDS).title(), "email": "reader@example.org",
            "url": "", "comment_post_ID": number, "comment_parent": "0", "submit": "Post Comment"}
