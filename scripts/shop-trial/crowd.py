"""Many visitors of the shop at once, each with unique data."""

import concurrent.futures
import random
import time

import checks
import entries
from shop import Refused

SESSIONS = 50
STEP = "many sessions"
KINDS = [("", ""), ("customer", "GB"), ("", ""), ("customer", "CH"), ("", "CH")]
PLAIN = ("home", "shop", "category", "mug", "cup", "lamp", "products", "blocks", "post", "elementor")
TRIES = 3


def _browse(shop, shopper, count, rng):
    for name in rng.sample([name for name in PLAIN if name in shop.pages], count):
        shopper.get(shop.pages[name])


def _buy(shop, shopper, rng):
    _browse(shop, shopper, 3, rng)
    if shopper.role:
        shopper.log_in()
        _browse(shop, shopper, 2, rng)
    rng.choice((shopper.add_by_script, shopper.add_by_store))(shopper.box)
    shopper.add_by_form(shop.pages["cup"], shop.products["cup"])
    shopper.get(shop.pages["shop"])
    for name in ("mug", "blocks", "classic-cart"):
        checks.compare(shop, shopper, shop.pages[name], STEP, TRIES)
    shopper.apply_coupon()
    _browse(shop, shopper, 2, rng)
    for name in ("cart", "checkout"):
        page = shopper.get(shop.pages[name])
        if shopper.mark not in page.text:
            shop.note("the visitor's own cart is missing", shopper, page, shopper.mark, "", STEP)
    rng.choice((shopper.check_out_classic, shopper.check_out_by_blocks))()
    shopper.get(shop.pages["mug"])
    for name in ("mug", "classic-cart", "second-account"):
        checks.compare(shop, shopper, shop.pages[name], STEP, TRIES)
    if shopper.role:
        account = shopper.get(shop.pages["account"])
        if shopper.mark not in account.text:
            shop.note("the visitor's own account is missing", shopper, account, shopper.mark, "", STEP)
        shopper.log_out()
    _browse(shop, shopper, 2, rng)


def _manage(shop, until):
    number = 0
    while not until():
        number += 1
        entries.rest(shop.trial, "PUT", f"/wc/v3/products/{shop.products['lamp']}", {"regular_price": f"{30 + number % 9}"})
        time.sleep(2)


def _guarded(shop, shopper, seed):
    rng = random.Random(seed)
    time.sleep(rng.random() * 5)
    try:
        _buy(shop, shopper, rng)
    except (Refused, OSError, RuntimeError) as error:
        shop.note("session failed", shopper, None, "", f"{type(error).__name__}: {error}", STEP)


def run(shop, sessions):
    """Runs the sessions at once, while a shop manager changes a price every two seconds; returns figures.

    A visitor without exactly one order is recorded.
    """
    shoppers = shop.add_shoppers([KINDS[number % len(KINDS)] for number in range(sessions)])
    begun, done = time.monotonic(), []
    with concurrent.futures.ThreadPoolExecutor(sessions + 1) as pool:
        manager = pool.submit(_manage, shop, lambda: len(done) == sessions)
        tasks = [pool.submit(_guarded, shop, shopper, seed) for seed, shopper in enumerate(shoppers)]
        for task in concurrent.futures.as_completed(tasks):
            done.append(task)
            if task.exception():
                shop.note("session failed", None, None, "", repr(task.exception()), STEP)
        manager.result()
    emails = shop.site.evaluate("return array_map(function ($order) { return $order->get_billing_email(); }, wc_get_orders(array('limit' => -1)));")
    for shopper in shoppers:
        count = emails.count(shopper.mark + "@example.org")
        if count != 1:
            shop.note("wrong number of orders", shopper, None, "1", str(count), STEP)
    refusals = sum(shopper.visitor.refusals for shopper in shoppers)
    return {"sessions": sessions, "seconds": round(time.monotonic() - begun), "orders": len(emails), "requests repeated because of a full queue": refusals}
