"""Scenario of a few visitors, step by step. After each step, all pages of all of them are compared with PHP's."""

import concurrent.futures
import time

import entries
import checks
from shop import Refused
from trial import STORED

BOUGHT = 'return wc_get_orders(array("limit" => 1, "customer" => get_user_by("login", %r)->ID))[0]->update_status("completed");'
ON_SALE = ("$product = wc_get_product(%d); $product->set_sale_price('12'); $product->set_date_on_sale_from(time() + %d); $product->set_date_on_sale_to(time() + %d);"
           "$product->save(); return 1;")
# Seconds until a sale starts or stops: SOON in a step that waits for it, LATER in all others, which may take longer than SOON on a slow machine.
SOON, LATER = 20, 86400
# In this step, Myriad's plugin compares the pages of known visitors until it sends stored ones.
LEARNING, LEARNING_VIEWS, VIEWS = "cart of a customer", 12, 3


class Scenario:
    """Few visitors in a shop, and the figures about their pages."""

    def __init__(self, shop):
        self.shop = shop
        kinds = [("", ""), ("", ""), ("customer", "GB"), ("customer", "CH"), ("subscriber", ""), ("shop_manager", "GB")]
        self.first, self.second, self.customer, self.swiss, self.reader, self.manager = shop.add_shoppers(kinds)
        self.people = shop.shoppers[-len(kinds):]
        self.urls = list(shop.pages.values())
        self.steps = []

    def run(self):
        """Runs all steps; returns for each the numbers of pages that each visitor got from the cache."""
        trial = self.shop.trial
        for name, url in self.shop.pages.items():
            if name not in ("cart", "checkout", "account"):
                trial.add_page(url, name)
        trial.warm()
        for step, make in self.list():
            begun = time.monotonic()
            compared = self._step(step, make)
            self.steps.append({"step": step, "seconds": round(time.monotonic() - begun), **compared})
            print(f"{self.shop.theme}: {step}: {compared}", flush=True)
        return self.steps

    def list(self):
        """Returns the steps: pairs of a name and a function."""
        shop, products, pages = self.shop, self.shop.products, self.shop.pages
        return [
            ("two carts", self._fill_carts),
            ("log in", self._log_in),
            (LEARNING, lambda: self.customer.add_by_form(pages["rug"], products["rug"])),
            ("price by a shop manager", self._price),
            ("coupons", lambda: [self.first.apply_coupon(), self.customer.apply_coupon()]),
            ("classic checkout, stock", lambda: [self.first.add_by_script(products["cup"]), self.first.check_out_classic()]),
            ("checkout block, stock", lambda: [self.second.add_by_store(products["cup"]), self.second.check_out_by_blocks()]),
            ("checkout of a customer", self.customer.check_out_classic),
            ("bought", lambda: shop.site.evaluate(BOUGHT % ("user" + self.customer.mark))),
            ("review by a verified buyer", lambda: self.customer.review(pages["rug"], products["rug"])),
            ("dated sale", lambda: self._sell(LATER, 2 * LATER)),
            ("sale has begun", lambda: self._await_sale(SOON, LATER)),
            ("sale has ended", lambda: self._await_sale(-LATER, SOON)),
            ("log out", lambda: self.customer.log_out() and None),
        ]

    def _fill_carts(self):
        self.first.add_by_script(self.first.box)
        self.second.add_by_form(self.shop.own_page(self.second), self.second.box)
        self.second.add_by_script(self.shop.products["mug"])

    def _log_in(self):
        for person in self.people:
            if person.role:
                person.log_in()
        self.shop.trial.admin = self.manager.visitor

    def _price(self):
        return entries.rest(self.shop.trial, "PUT", f"/wc/v3/products/{self.shop.products['mug']}", {"regular_price": "11.50"})

    def _sell(self, begins, ends):
        """Sets the times of the sale, in seconds from now."""
        return self.shop.site.evaluate(ON_SALE % (self.shop.products["lamp"], begins, ends))

    def _await_sale(self, begins, ends):
        """Sets the times of the sale, stores all pages, and waits until the sale has started or stopped, before the pages are compared."""
        changed = time.monotonic() + SOON + 1
        self._sell(begins, ends)
        for page in self.shop.trial.pages.values():
            self.shop.trial.fetch(page)
        time.sleep(max(0, changed - time.monotonic()))

    def _hits(self, person, step):
        """Compares the pages of a visitor that come from the cache; returns their number. The first request shows and deletes notices."""
        views = LEARNING_VIEWS if step == LEARNING else VIEWS
        stored = [url for url in self.urls if checks.warm(self.shop, person, url, views).field("x-cache") in STORED]
        return sum(checks.compare(self.shop, person, url, step) in STORED for url in stored)

    def _step(self, step, make):
        """Makes a step, and compares all pages; returns the numbers of pages from the cache by visitor."""
        trial, stale = self.shop.trial, len(self.shop.trial.stale)
        try:
            trial.change(step, make, True)
        except (Refused, entries.Skipped) as error:
            self.shop.note("step failed", None, None, "", str(error), step)
        for found in trial.stale[stale:]:
            self.shop.findings.append({"theme": self.shop.theme, "kind": "old page", "visitor": "anonymous", "step": step, **found})
        hits = {"anonymous": trial.changes[-1]["hits"] if trial.changes else 0}
        with concurrent.futures.ThreadPoolExecutor(len(self.people)) as pool:
            hits |= dict(pool.map(lambda person: (person.name, self._hits(person, step)), self.people))
        for page in trial.pages.values():
            self.shop.check_leaks(None, page.answer, step)
        return hits
