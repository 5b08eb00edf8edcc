"""Controls a headless Chromium over a pipe, with the DevTools protocol."""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--hide-scrollbars", "--force-device-scale-factor=1", "--remote-debugging-pipe",
         # Screenshots of equal pages have equal pixels.
         "--disable-checker-imaging", "--disable-partial-raster")
# The browser cannot reach any other machine, regardless of the network.
RULES = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
TIMEOUT = 60
QUIET = 0.7
SIZE = {"width": 1200, "height": 1600, "deviceScaleFactor": 1, "mobile": False}
STILL = "*,*::before,*::after{animation:none!important;transition:none!important;scroll-behavior:auto!important;caret-color:transparent!important}"
MOST_SHOTS = 20
# Stops animations, and replaces the image that the browser has chosen from each `srcset`: its choice depends on the images that are loaded
# at that time. The smallest image that is wide enough is used, in the present size.
# Of a full screenshot, all images of the page are replaced.
FREEZE = """(async (is_full) => {
    const style = document.createElement('style');
    style.textContent = %s;
    document.head.append(style);
    if (window.jQuery) {
        jQuery.fx.off = true;
        jQuery(':animated').finish();
    }
    window.scrollTo(0, 0);
    const shown = [...document.images].filter((image) => {
        const box = image.getBoundingClientRect();
        return box.width && box.height && (is_full || box.top < innerHeight && box.bottom > 0);
    });
    const sizes = shown.map((image) => [getComputedStyle(image).width, getComputedStyle(image).height]);
    await Promise.all(shown.map((image, number) => {
        image.loading = 'eager';
        const found = image.srcset.split(/,\\s+/).map((one) => one.trim().split(/\\s+/)).filter((one) => /^\\d+w$/.test(one[1]))
            .map(([url, width]) => [parseInt(width), url]).sort((one, other) => one[0] - other[0]);
        const wide = found.filter((one) => one[0] >= parseFloat(sizes[number][0]) * devicePixelRatio);
        const chosen = wide[0] || found[found.length - 1];
        if (chosen && !image.closest('picture')) {
            image.style.setProperty('width', sizes[number][0], 'important');
            image.style.setProperty('height', sizes[number][1], 'important');
            image.removeAttribute('srcset');
            image.src = chosen[1];
        }
        return image.decode().catch(() => 0);
    }));
    await document.fonts.ready;
})(%s)"""
IDLE = "new Promise((done) => requestIdleCallback(done, {timeout: 10000}))"


class BrowserError(Exception):
    """Raised if the browser does not do what was requested."""


class Browser:
    """Browser process. With a port, `localhost` without a port is the server at this port of the machine."""

    def __init__(self, program, port=None):
        self.folder = tempfile.mkdtemp(prefix="chromium-")
        to_browser, self.out = os.pipe()
        self.into, from_browser = os.pipe()
        # Unlike sh, bash can redirect file descriptors above 9.
        command = ["bash", "-c", 'exec "$0" "$@" 3<&%d 4>&%d' % (to_browser, from_browser), program, *FLAGS, f"--user-data-dir={self.folder}",
                   "--host-resolver-rules=" + (f"MAP localhost 127.0.0.1:{port}, {RULES}" if port else f"{RULES}, EXCLUDE localhost")]
        self.process = subprocess.Popen(command, pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        stdin=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "HOME": self.folder})
        os.close(to_browser)
        os.close(from_browser)
        self.number, self.buffer, self.events, self.answers = 0, b"", [], {}

    def send(self, method, session=None, **params):
        """Sends a command; returns its number."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self.out, json.dumps(message).encode() + b"\0")
        return self.number

    def call(self, method, session=None, **params):
        """Sends a command; returns its result."""
        number = self.send(method, session, **params)
        deadline = time.monotonic() + TIMEOUT
        while number not in self.answers:
            if not self.receive(max(0, deadline - time.monotonic())):
                raise BrowserError(f"{method} did not end")
        answer = self.answers.pop(number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']}")
        return answer["result"]

    def receive(self, seconds):
        """Reads one message of the browser; returns False if none arrives in time. Events are added to `events`."""
        while b"\0" not in self.buffer:
            if not select.select([self.into], [], [], seconds)[0]:
                return False
            piece = os.read(self.into, 1 << 20)
            if not piece:
                raise BrowserError("the browser has exited")
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        if "id" in message:
            self.answers[message["id"]] = message
        else:
            self.events.append(message)
        return True

    def page(self, visitor=None):
        """Opens a page with empty storage, and with the cookies of a visitor."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Page(self, session, context, visitor)

    def close(self):
        """Terminates the browser and removes its folder."""
        os.close(self.out)
        os.close(self.into)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Page:
    """Page in the browser."""

    def __init__(self, browser, session, context, visitor):
        self.browser, self.session, self.context, self.replaced, self.pending = browser, session, context, None, set()
        self.fields, self.seen = {}, []
        for domain in ("Page", "Network", "Runtime"):
            self.call(f"{domain}.enable")
        self.resize(SIZE["width"], SIZE["height"])
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
        if visitor:
            self.call("Network.setUserAgentOverride", userAgent=visitor[1])
            cookies = [{"name": name, "value": value, "url": visitor[0].base, "path": path} for (name, path), value in visitor[0].jar.items()]
            if cookies:
                self.call("Network.setCookies", cookies=cookies)

    def call(self, method, **params):
        """Sends a command for this page; returns its result."""
        return self.browser.call(method, self.session, **params)

    def resize(self, width, height):
        """Sets the size of the visible part of the page, in pixels."""
        self.call("Emulation.setDeviceMetricsOverride", **{**SIZE, "width": width, "height": height})

    def _handle_events(self):
        """Handles events of this page, and adds them to `seen`; returns True if a document was loaded."""
        loaded = False
        events, self.browser.events = self.browser.events, []
        for event in events:
            if event.get("sessionId") != self.session:
                continue
            self.seen.append(event)
            loaded |= event["method"] == "Page.loadEventFired"
            # Chromium sends no event when a request for a blob: URL is finished.
            if event["method"] == "Network.requestWillBeSent" and event["params"]["request"]["url"].startswith("http"):
                self.pending.add(event["params"]["requestId"])
            elif event["method"] in ("Network.loadingFinished", "Network.loadingFailed"):
                self.pending.discard(event["params"]["requestId"])
            elif event["method"] == "Network.responseReceived" and event["params"]["type"] == "Document":
                self.fields = {name.lower(): value for name, value in event["params"]["response"]["headers"].items()}
            elif event["method"] == "Fetch.requestPaused":
                self._answer_paused(event["params"])
        return loaded

    def _answer_paused(self, paused):
        number = paused["requestId"]
        if self.replaced is None or paused.get("resourceType") != "Document":
            self.call("Fetch.continueRequest", requestId=number)
            return
        status, fields, body = self.replaced
        kept = [{"name": name, "value": value} for name, value in fields if name in ("content-type", "link")]
        self.call("Fetch.fulfillRequest", requestId=number, responseCode=status, responseHeaders=kept, body=base64.b64encode(body).decode())

    def open(self, url, replaced=None):
        """Loads a page and waits until its scripts are done; `replaced` is the response (status, fields, body) to use for the document.

        Afterwards `fields` has the headers of the document, and `seen` all events of the page.
        """
        self.replaced, self.pending, self.seen = replaced, set(), []
        self.call("Fetch.enable" if replaced else "Fetch.disable", **({"patterns": [{"resourceType": "Document"}]} if replaced else {}))
        self.browser.events.clear()
        self.browser.send("Page.navigate", self.session, url=url)
        self.wait(True)

    def wait(self, is_load=False):
        """Waits until no request has been pending for a moment; with `is_load`, also until a document is loaded."""
        deadline, loaded, quiet = time.monotonic() + TIMEOUT, not is_load, time.monotonic()
        while time.monotonic() < deadline:
            self.browser.receive(0.1)
            had_events = bool(self.browser.events)
            loaded |= self._handle_events()
            if had_events or self.pending:
                quiet = time.monotonic()
            if loaded and time.monotonic() - quiet > QUIET:
                return
        raise BrowserError(f"the page is not loaded after {TIMEOUT} seconds")

    def evaluate(self, script):
        """Returns the value of an expression of JavaScript."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise BrowserError(f"{script[:80]}: {result['exceptionDetails'].get('exception', {}).get('description', '')[:200]}")
        return result["result"].get("value")

    def act(self, script, is_load=False):
        """Runs JavaScript and waits until its requests, and with `is_load` the next document, are done."""
        self.pending = set()
        self.browser.events.clear()
        self.evaluate(script)
        self.wait(is_load)

    def screenshot(self, height=None):
        """Returns the visible part of the page, or its first pixels up to a height, as PNG without animations, when it no longer changes."""
        self.act(FREEZE % (json.dumps(STILL), json.dumps(bool(height))))
        area, last = {}, None
        if height:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], height), "scale": 1}
            area = {"captureBeyondViewport": True, "clip": clip}
        for _ in range(MOST_SHOTS):
            self.evaluate(IDLE)
            shot = base64.b64decode(self.call("Page.captureScreenshot", format="png", **area)["data"])
            if shot == last:
                return shot
            last = shot
        raise BrowserError(f"each of {MOST_SHOTS} screenshots differs from the one before")

    def close(self):
        """Closes the page and deletes its cookies and storage."""
        self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)
