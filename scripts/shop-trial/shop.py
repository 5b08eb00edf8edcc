"""Shop for scripts/try-shop: a site with WooCommerce and Elementor, and its visitors."""

import json
import pathlib
import re
import secrets
import shutil
import subprocess
import time

import activation
import privacy
from trial import Trial, quoted
from trial_site import Site
from visitors import Visitor

HERE = pathlib.Path(__file__).resolve().parent
PASSWORD = "trial-Password-7"
MOST_PAGES = 45
MOST_REFUSALS = 60
SECRET_COOKIE = re.compile(r"^(?:wordpress_logged_in_|wp_woocommerce_session_)")
NONCE = r'"%s"\s*:\s*"([0-9a-f]{10})"'
ADDRESS = {"address_1": "Street {mark}", "city": "Town", "state": "", "postcode": "LS1 1AA", "country": "GB", "phone": "01130000000"}
POSTCODES = {"GB": "LS1 1AA", "CH": "3000"}


class Refused(Exception):
    """Raised if the shop refuses a step of a visitor."""


class PatientVisitor(Visitor):
    """Visitor that repeats requests that Myriad refuses because its queue for PHP is full. PHP has not received them."""

    refusals = 0

    def send(self, method, url, body=None, fields=None):
        """Sends a request, again after each refusal; returns the last response."""
        for _ in range(MOST_REFUSALS):
            answer = super().send(method, url, body, fields)
            if answer.status != 503 or not answer.field("retry-after"):
                break
            self.refusals += 1
            time.sleep(min(float(answer.field("retry-after")), 5))
        return answer


class Shopper:
    """Visitor of the shop. All of the visitor's data contain a mark."""

    def __init__(self, shop, number, role="", country=""):
        self.shop, self.role, self.country = shop, role, country
        self.mark = f"vm{number:02d}{secrets.token_hex(2)}"
        self.visitor, self.tokens, self.box = shop.site.visitor(PatientVisitor), set(), 0
        self.name = f"{role or 'guest'} {number}{' in ' + country if country else ''}"

    def description(self):
        """Returns the data from which people.php creates the visitor."""
        return {"mark": self.mark, "role": self.role, "password": PASSWORD, "country": self.country, "postcode": POSTCODES.get(self.country, "")}

    def secrets(self):
        """Returns the texts that no other visitor's response may contain: the mark, and values of cookies."""
        values = [value.split("%7C")[2 if name.startswith("wordpress_") else 0] for (name, _), value in list(self.visitor.jar.items())
                  if SECRET_COOKIE.match(name) and value.count("%7C") >= 2]
        return [self.mark, *(value for value in values if len(value) >= 12)]

    def log_in(self):
        """Logs in."""
        self.visitor.log_in("user" + self.mark, PASSWORD)

    def get(self, url):
        """Returns a page, after redirects; its text is searched for data of others."""
        return self.seen(self.visitor.get(url))

    def seen(self, answer):
        """Searches a response for data of other visitors; returns it."""
        self.shop.check_leaks(self, answer)
        return answer

    def _wanted(self, answer, texts, step):
        if answer.status >= 400 or not any(text in answer.text for text in texts):
            text = re.sub(r"\s+", " ", answer.text)
            raise Refused(f"{self.name}, {step}: {answer.status} {text[:300]}")
        return answer

    def add_by_script(self, product):
        """Adds a product as the scripts of a list of products do."""
        answer = self.seen(self.visitor.post("/?wc-ajax=add_to_cart", {"product_id": product, "quantity": 1}, fields={"X-Requested-With": "XMLHttpRequest"}))
        return self._wanted(answer, ['"cart_hash"'], "add by script")

    def add_by_form(self, url, product):
        """Adds a product with the form of its page."""
        page = self.get(url)
        if "add-to-cart" not in page.text:
            raise Refused(f"{self.name}: {url} has no form for the cart")
        answer = self.seen(self.visitor.post(url, {"quantity": 1, "add-to-cart": product}, is_multipart=True))
        return self._wanted(answer, ["added to your cart", "added to cart"], "add by form")

    def _store(self, method, route, data):
        cart = self.seen(self.visitor.rest("GET", "/wc/store/v1/cart"))
        fields = {"Content-Type": "application/json", "Nonce": cart.field("nonce"), "Accept": "application/json"}
        return self.seen(self.visitor.send(method, "/wp-json/wc/store/v1" + route, json.dumps(data).encode(), fields))

    def add_by_store(self, product):
        """Adds a product as a block does."""
        return self._wanted(self._store("POST", "/cart/add-item", {"id": product, "quantity": 1}), ['"items"'], "add by the Store API")

    def apply_coupon(self):
        """Applies the visitor's coupon on the page with the shortcode of the checkout."""
        page = self.get(self.shop.pages["classic-checkout"])
        nonce = re.search(NONCE % "apply_coupon_nonce", page.text)
        if not nonce:
            raise Refused(f"{self.name}: the classic checkout has no nonce for coupons ({page.field('x-cache')})")
        data = {"coupon_code": "code" + self.mark, "security": nonce.group(1)}
        return self._wanted(self.seen(self.visitor.post("/?wc-ajax=apply_coupon", data)), ["applied"], "coupon")

    def address(self):
        """Returns the fields of the visitor's address as JSON."""
        return json.dumps(self._address())

    def _address(self, prefix=""):
        fields = {name: value.format(mark=self.mark) for name, value in ADDRESS.items()}
        fields |= {"first_name": "First" + self.mark, "last_name": "Last" + self.mark, "email": self.mark + "@example.org", "company": "", "address_2": ""}
        if self.country:
            fields |= {"country": self.country, "postcode": POSTCODES[self.country]}
        return {prefix + name: value for name, value in fields.items()}

    def check_out_classic(self):
        """Orders the content of the cart with the form of the shortcode, paid on delivery; returns the page about the order."""
        page = self.get(self.shop.pages["classic-checkout"])
        nonce = re.search(r'name="woocommerce-process-checkout-nonce" value="([0-9a-f]+)"', page.text)
        if not nonce:
            raise Refused(f"{self.name}: the classic checkout has no form ({page.field('x-cache')})")
        data = {**self._address("billing_"), "payment_method": "cod", "woocommerce-process-checkout-nonce": nonce.group(1), "order_comments": ""}
        answer = self._wanted(self.seen(self.visitor.post("/?wc-ajax=checkout", data)), ['"result":"success"'], "classic checkout")
        return self._wanted(self.get(answer.json()["redirect"]), [self.mark], "page about the order")

    def check_out_by_blocks(self):
        """Orders the content of the cart as the checkout block does; returns the page about the order."""
        data = {"billing_address": self._address(), "shipping_address": self._address(), "payment_method": "cod"}
        answer = self._wanted(self._store("POST", "/checkout", data), ['"order_id"'], "checkout by the Store API")
        return self._wanted(self.get(answer.json()["payment_result"]["redirect_url"]), [self.mark], "page about the order")

    def review(self, url, product):
        """Reviews a product with the form of its page."""
        page = self.get(url)
        if 'name="rating"' not in page.text:
            raise Refused(f"{self.name}: {url} has no form for a review ({page.field('x-cache')})")
        data = {"rating": 5, "comment": "Review of " + self.mark, "comment_post_ID": product, "comment_parent": 0, "submit": "Submit"}
        answer = self.visitor.post("/wp-comments-post.php", data)
        if answer.status != 302:
            raise Refused(f"{self.name}, review: {answer.status} {answer.text[:200]}")
        return answer

    def log_out(self):
        """Logs out with the link of the account page."""
        page = self.visitor.get(self.shop.pages["account"])
        link = re.search(r'href="([^"]*customer-logout[^"]*)"', page.text)
        if not link:
            raise Refused(f"{self.name}: the account page has no link to log out")
        return self.visitor.get(link.group(1).replace("&amp;", "&"))


class Shop:
    """Site with a shop, its visitors and the findings."""

    def __init__(self, folder, options, theme):
        self.site, self.theme, self.options = Site(folder, options), theme, options
        self.trial, self.pages, self.products, self.store = None, {}, {}, None
        self.shoppers, self.findings, self.public = [], [], {}

    def create(self):
        """Creates the site with its shop."""
        self.site.create()
        for theme in self.options.themes:
            self.site.add_theme(theme)
        self.site.evaluate(f"switch_theme({quoted(self.theme)}); require_once ABSPATH . 'wp-admin/includes/upgrade.php'; wp_upgrade(); return 1;")
        self.trial = Trial(self.theme, self.site, float("inf"), MOST_PAGES)
        self.trial.admin = self.site.administrator()
        self.trial.add_page("/", "home")
        privacy.prepare(self.trial)
        for plugin in self.options.plugins:
            self.site.add_plugin(plugin)
            activation.activate(self.trial, plugin.name)
        made = self.site.evaluate((HERE / "set-up.php").read_text())
        self.pages, self.products = made["pages"], made["products"]
        self.site.evaluate((HERE / "theme.php").read_text())
        (self.site.root / "wp-content/mu-plugins/shop.php").write_text((HERE / "must-use.php").read_text())
        if self.options.object_cache:
            self._start_object_cache()
        self.trial.log_before = len(self.site.log_lines())

    def _start_object_cache(self):
        """Starts Valkey or Redis on a socket of the site, and installs Myriad's object cache."""
        program, socket = shutil.which("valkey-server") or shutil.which("redis-server"), self.site.folder / "run/store.sock"
        if not program:
            raise RuntimeError("valkey-server and redis-server are missing")
        options = ["--port", "0", "--unixsocket", socket, "--unixsocketperm", "777", "--save", "", "--dir", self.site.folder / "tmp"]
        # It is killed with this program.
        self.store = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", program, *options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while not socket.exists():
            if self.store.poll() is not None:
                raise RuntimeError(f"{program} exited with status {self.store.returncode}")
            time.sleep(0.05)
        self.site.install_object_cache(f"redis:{socket}")

    def remove(self):
        """Stops all processes of the site, and removes its files."""
        if self.store:
            self.store.kill()
            self.store.wait()
        self.site.remove()

    def add_shoppers(self, kinds):
        """Creates visitors from pairs of role and country; returns them."""
        added = [Shopper(self, len(self.shoppers) + number, role, country) for number, (role, country) in enumerate(kinds)]
        people = json.dumps([shopper.description() for shopper in added])
        boxes = self.site.evaluate(f"$people = json_decode({quoted(people)}, true);\n" + (HERE / "people.php").read_text())
        for shopper in added:
            shopper.box = boxes[shopper.mark]
        self.shoppers += added
        return added

    def own_page(self, shopper):
        """Returns the address of the product that only this visitor requests."""
        return f"/product/box-{shopper.mark}/"

    def public_tokens(self, url):
        """Returns the words in the page of anonymous visitors that look like nonces."""
        if url not in self.public:
            self.public[url] = privacy.tokens_of(self.site.php_page(url).text)
        return self.public[url]

    def note(self, kind, shopper, answer, php="", myriad="", step=""):
        """Records wrong content in a response, if there is one."""
        self.record(kind, shopper.name if shopper else "anonymous", step, answer.url if answer else "", php, myriad, answer.field("x-cache") if answer else "")

    def record(self, kind, visitor, step, url, php, myriad, cache=""):
        """Records wrong content: names of its kind, the visitor and the step, and the texts from PHP and from Myriad."""
        self.findings.append({"theme": self.theme, "kind": kind, "visitor": visitor, "url": url, "cache": cache, "php": php, "myriad": myriad, "step": step})

    def check_leaks(self, shopper, answer, step=""):
        """Records data of another visitor in a response, unless PHP shows them to this visitor, too."""
        text = answer.text.lower()
        tokens = privacy.tokens_of(answer.text)
        for other in self.shoppers:
            if other is shopper:
                continue
            found = [secret for secret in other.secrets() if secret.lower() in text] + sorted(tokens & (other.tokens - (shopper.tokens if shopper else set())))
            if found and not self._is_public(found[0], shopper, answer):
                self.note("data of another visitor", shopper, answer, "", found[0], step)

    def _is_public(self, text, shopper, answer):
        page = self.site.php_page(answer.url, shopper.visitor if shopper else None)
        return text.lower() in page.text.lower()
