"""Measures how many pages per second visitors get, and how many of the views of customers with a cart cause a request to PHP."""

import http.client
import threading
import time

import checks

SECONDS, CLIENTS, MOST_VIEWS = 5, 4, 15
PRODUCTS = ("mug", "cup", "lamp", "rug")
# Customers who look at products for some minutes, one page each second.
CUSTOMERS, BROWSING_SECONDS, PAUSE_SECONDS = 5, 300, 1


def _measure(shop, urls, cookies):
    counts, end = [0] * CLIENTS, time.monotonic() + SECONDS

    def request(client):
        connection = http.client.HTTPConnection("127.0.0.1", shop.site.port, timeout=60)
        number = client
        while time.monotonic() < end:
            connection.request("GET", urls[number % len(urls)], headers={"Host": f"localhost:{shop.site.port}", "Accept-Encoding": "gzip"} | ({"Cookie": cookies} if cookies else {}))
            connection.getresponse().read()
            counts[client] += 1
            number += 1

    _run(request, range(CLIENTS))
    return round(sum(counts) / SECONDS)


def _run(work, items):
    threads = [threading.Thread(target=work, args=(item,)) for item in items]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _browse(shop, urls, customers):
    """Returns the requests to PHP for each view of customers who look at products at the same time.

    The requests include those of Myriad itself, such as refreshes and verifications of pages.
    """
    views, end = [0] * len(customers), time.monotonic() + BROWSING_SECONDS

    def browse(number):
        while time.monotonic() < end:
            customers[number].get(urls[(number + views[number]) % len(urls)])
            views[number] += 1
            time.sleep(PAUSE_SECONDS)

    before = shop.site.page_requests()
    _run(browse, range(len(customers)))
    return round((shop.site.page_requests() - before) / sum(views), 3)


def run(shop):
    """Returns the requests to PHP per view of customers, and the pages per second of two kinds of visitors. The client in Python limits high values."""
    guest, *customers = shop.add_shoppers([("", "")] * (1 + CUSTOMERS))
    for shopper in (guest, *customers):
        shopper.add_by_script(shopper.box)
    urls = [shop.pages[name] for name in PRODUCTS]
    for url in urls:
        shop.site.bystander().send("GET", url)
    for url in urls:
        checks.warm(shop, guest, url, MOST_VIEWS)
    return {
        f"requests to PHP per view, {CUSTOMERS} other customers with a cart for {BROWSING_SECONDS // 60} minutes": _browse(shop, urls, customers),
        "pages per second, anonymous": _measure(shop, urls, ""),
        "pages per second, customer with a cart": _measure(shop, urls, guest.visitor.cookie_field("/")),
    }
