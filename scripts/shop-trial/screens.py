"""Checks the small cart in Chromium, counts the requests to PHP per page view, and compares screenshots of pages from the cache and from PHP."""

import itertools
import pathlib
import re
import time

import checks
import png
from chromium import TIMEOUT, Browser, BrowserError
from trial import STORED
from visitors import AGENT

VIEWS, TRIES, MOST_VIEWS = 20, 3, 15
DOT = b'<i style="position:fixed;z-index:2147483647;left:3px;top:3px;width:1px;height:1px;background:#0a7"></i>'
SHOWN = ("home", "mug", "products", "post", "blocks")
ITEMS = """(() => {
    const number = (text) => Number((text || '').replace(/[^0-9]/g, '') || 0);
    const badge = document.querySelector('.wc-block-mini-cart__badge');
    const count = document.querySelector('.site-header-cart .cart-contents .count');
    if (badge) return badge.hidden ? 0 : number(badge.textContent);
    return count ? number(count.textContent) : -1;
})()"""
WIDGET = """[...document.querySelectorAll('.widget_shopping_cart_content')].map((cart) =>
    [...cart.querySelectorAll('.quantity')].reduce((sum, item) => sum + parseInt(item.textContent), 0))"""
# Texts and attributes that scripts compute from the data of the page.
COMPUTED = """[...document.querySelectorAll('*')].map((element) => {
    const names = element.getAttributeNames().filter((name) => name.startsWith('data-wp-bind--')).map((name) => name.slice(14));
    const text = element.hasAttribute('data-wp-text') ? [element.textContent] : [];
    return [...names.map((name) => `${element.tagName} ${name}=${name === 'value' ? element.value : element.getAttribute(name)}`), ...text];
}).flat()"""
COUPON = """(() => {
    document.querySelector('#coupon_code').value = %r;
    document.querySelector('button[name="apply_coupon"]').click();
})()"""
ORDER = """(() => {
    const set = (name, value) => { const field = document.querySelector(`[name="billing_${name}"]`); if (field) { field.value = value; } };
    const fields = %s;
    for (const name in fields) set(name, fields[name]);
    document.querySelector('#payment_method_cod')?.click();
    jQuery('#place_order').trigger('click');
})()"""


def _absolute(shop, path):
    return f"http://localhost:{shop.site.port}{path}"


def _check_cart(shop, page, expected, step, url):
    """Records a small cart with another number of items, on the present page and on a page that is loaded next."""
    for place in ("here", url):
        if place != "here":
            page.open(_absolute(shop, place))
        deadline = time.monotonic() + TIMEOUT
        while (count := page.evaluate(ITEMS)) != expected and time.monotonic() < deadline:
            page.wait()
        widgets = page.evaluate(WIDGET)
        if count != expected or any(number != expected for number in widgets):
            shop.record("wrong small cart", "in Chromium", step, place, f"{expected} items", f"{count} in the header, {widgets} in widgets")


def _shop_in_browser(shop, browser, shopper):
    """Fills a cart, applies a coupon and orders in the browser, and checks the small cart after each step."""
    page, pages = browser.page(), shop.pages
    page.open(_absolute(shop, pages["mug"]))
    _check_cart(shop, page, 0, "no cart", pages["lamp"])
    page.open(_absolute(shop, pages["shop"]))
    page.act(f"document.querySelector('[data-product_id=\"{shop.products['mug']}\"]').click()")
    _check_cart(shop, page, 1, "add by script", pages["lamp"])
    page.open(_absolute(shop, pages["cup"]))
    page.act("document.querySelector('form.cart [name=\"add-to-cart\"]').click()", True)
    _check_cart(shop, page, 2, "add by form", pages["lamp"])
    page.open(_absolute(shop, pages["classic-cart"]))
    page.act(COUPON % ("code" + shopper.mark))
    if not page.evaluate("!!document.querySelector('.cart-discount')"):
        shown = page.evaluate("document.querySelector('.woocommerce-notices-wrapper').textContent")[:200]
        shop.record("the coupon is not applied", "in Chromium", "coupon", pages["classic-cart"], "", shown)
    page.open(_absolute(shop, pages["lamp"]))
    _check_cart(shop, page, 2, "coupon", pages["mug"])
    page.open(_absolute(shop, pages["classic-checkout"]))
    page.act(ORDER % shopper.address(), True)
    if "order-received" not in page.evaluate("location.pathname"):
        shown = page.evaluate("document.querySelector('.woocommerce-error, .woocommerce-notices-wrapper')?.textContent || location.href")[:200]
        shop.record("no order", "in Chromium", "checkout", pages["classic-checkout"], "", shown)
    page.open(_absolute(shop, pages["lamp"]))
    _check_cart(shop, page, 0, "after the checkout", pages["mug"])
    page.close()


def _count_requests(shop, browser, shopper):
    """Returns the requests to PHP for each view of a product page in the browser."""
    names = ("mug", "lamp", "rug", "products")
    for name in names if shopper else ():
        checks.warm(shop, shopper, shop.pages[name], MOST_VIEWS)
    page = browser.page((shopper.visitor, AGENT) if shopper else None)
    urls = [_absolute(shop, shop.pages[name]) for name in names]
    for url in urls:
        page.open(url)
    before = shop.site.page_requests()
    for number in range(VIEWS):
        page.open(urls[number % len(urls)])
    page.close()
    return round((shop.site.page_requests() - before) / VIEWS, 2)


def _shot(shop, browser, shopper, url, replaced):
    """Returns a screenshot of a page, its cache status, and what its scripts have computed."""
    page = browser.page((shopper.visitor, AGENT))
    try:
        page.open(_absolute(shop, url), replaced)
        return page.screenshot(), page.fields.get("x-cache", ""), page.evaluate(COMPUTED)
    finally:
        page.close()


def _compare_screen(shop, browser, shopper, url):
    """Returns the screenshots of a page from the cache and from PHP, and the differences as a text; None if it does not come from the cache.

    A visible change of the shop between the two, by a scheduled task, is not repeated.
    """
    for _ in range(TRIES):
        expected = shop.site.php_page(url, shopper.visitor)
        shot, cache, computed = _shot(shop, browser, shopper, url, None)
        if cache not in STORED:
            return None
        php, _, wanted = _shot(shop, browser, shopper, url, (expected.status, expected.fields, expected.body))
        count, first = png.differing_pixels(shot, php)
        different = [f"{count} pixels differ, the first at {first}"] if count else []
        different += [f"scripts compute {one!r} in place of {other!r}" for one, other in itertools.zip_longest(computed, wanted) if one != other][:1]
        if not different:
            break
    return shot, php, "; ".join(different)


def _check_comparison(shop, browser, shopper, url, shot):
    """Records an error of this program if a page with one more pixel is not different."""
    wrong = shop.site.php_page(url, shopper.visitor)
    body = wrong.body.replace(b"</body>", DOT + b"</body>")
    if png.differing_pixels(shot, _shot(shop, browser, shopper, url, (wrong.status, wrong.fields, body))[0])[0] != 1:
        shop.record("a different pixel is not found", shopper.name, "screenshots", url, "", "")


def _compare_screens(shop, browser, shopper):
    """Compares screenshots of pages from the cache with those from PHP; returns the numbers of compared and equal ones."""
    compared = equal = 0
    for name in SHOWN:
        url = shop.pages[name]
        answer = checks.warm(shop, shopper, url, MOST_VIEWS)
        found = _compare_screen(shop, browser, shopper, url) if answer.field("x-cache") in STORED else None
        if found is None:
            continue
        *shots, different = found
        compared, equal = compared + 1, equal + (not different)
        if not different and equal == 1:
            _check_comparison(shop, browser, shopper, url, shots[0])
        elif different:
            path = f"{shop.options.prefix}-{shop.theme}-{name}-{re.sub('[^a-z]', '', shopper.name)}"
            for kind, taken in zip(("myriad", "php"), shots):
                pathlib.Path(f"{path}-{kind}.png").write_bytes(taken)
            shop.note("other pixels", shopper, answer, "", f"{different}: {path}-*.png", "screenshots")
    return f"{equal} of {compared} equal, {len(SHOWN) - compared} from PHP"


def run(shop):
    """Runs all checks with the browser; returns figures."""
    guest, customer, reader, buyer = shop.add_shoppers([("", ""), ("customer", "GB"), ("subscriber", ""), ("", "GB")])
    guest.add_by_script(shop.products["mug"])
    customer.log_in()
    customer.add_by_script(shop.products["mug"])
    reader.log_in()
    browser, figures = Browser(shop.options.chromium), {}
    try:
        figures["requests to PHP per view, anonymous"] = _count_requests(shop, browser, None)
        figures["requests to PHP per view, customer with a cart"] = _count_requests(shop, browser, guest)
        try:
            _shop_in_browser(shop, browser, buyer)
        except BrowserError as error:
            shop.note("the browser failed", buyer, None, "", str(error), "small cart")
        for person in (guest, customer, reader):
            figures[f"screenshots, {person.name}"] = _compare_screens(shop, browser, person)
    finally:
        browser.close()
    return figures
