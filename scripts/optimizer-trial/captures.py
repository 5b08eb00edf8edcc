"""Captures a page in Chromium: screenshot, DOM, rules of style sheets, console, and requests."""

import base64
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
BEFORE = (HERE / "before.js").read_text()
FUNCTIONS = (HERE / "page.js").read_text()
HEIGHTS = {360: 740, 768: 1024, 1366: 768}
# Maximum height of a screenshot, in pixels.
MAX_HEIGHT = 12000


class Capture:
    """Everything that is compared of a page with the size of one kind of screen."""

    def __init__(self, browser, url, width):
        page = browser.page()
        try:
            page.resize(width, HEIGHTS[width])
            page.call("Log.enable")
            page.call("Page.addScriptToEvaluateOnNewDocument", source=BEFORE)
            page.open(url)
            self.fields = page.fields
            self.dom, self.rules, blocking = (page.evaluate(f"{FUNCTIONS}.{name}()") for name in ("dom", "rules", "blocking"))
            first = _requests(page.seen)
            page.evaluate(f"{FUNCTIONS}.scroll()")
            self.shot = page.screenshot(MAX_HEIGHT)
            self.console = _console(page.seen)
            every = _requests(page.seen)
        finally:
            page.close()
        self.figures = {"requests": len(first), "blocking": len(blocking)}
        # URLs of the requests before and after scrolling.
        self.urls, self.later_urls = first, [url for url in every if url not in first]


def _requests(events):
    """Returns the URLs of the requests of a page. Data URLs are no requests."""
    urls = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    return list(dict.fromkeys(url for url in urls if url.startswith("http")))


def _console(events):
    """Returns the messages in the console of a page."""
    messages = []
    for event in events:
        params = event["params"]
        if event["method"] == "Runtime.consoleAPICalled":
            values = [value.get("value", value.get("description", "")) for value in params["args"]]
            messages.append(f"{params['type']}: {' '.join(map(str, values))}")
        elif event["method"] == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            messages.append(f"exception: {details['text']} {details.get('exception', {}).get('description', '').splitlines()[:1]}")
        elif event["method"] == "Log.entryAdded":
            entry = params["entry"]
            messages.append(f"{entry['level']}: {entry['text']} {entry.get('url', '')}")
    return messages


def differing_pixels(browser, original, optimized, again=None):
    """Returns the comparison of screenshots that pixels.js makes."""
    page = browser.page()
    try:
        return page.evaluate("(%s)(%s)" % ((HERE / "pixels.js").read_text(), ", ".join(json.dumps(_data_url(shot)) for shot in (original, optimized, again))))
    finally:
        page.close()


def _data_url(shot):
    return shot and "data:image/png;base64," + base64.b64encode(shot).decode()
