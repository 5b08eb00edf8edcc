"""Measures how many pages per second an anonymous visitor and a customer with a cart get."""

import http.client
import threading
import time

import checks

SECONDS, CLIENTS, MOST_VIEWS = 5, 4, 15


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

    threads = [threading.Thread(target=request, args=(client,)) for client in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return round(sum(counts) / SECONDS)


def run(shop):
    """Returns the pages per second of two kinds of visitors, for pages of products. The client in Python limits high values."""
    (guest,) = shop.add_shoppers([("", "")])
    urls = [shop.pages[name] for name in ("mug", "cup", "lamp", "rug")]
    for url in urls:
        shop.site.bystander().send("GET", url)
    guest.add_by_script(guest.box)
    for url in urls:
        checks.warm(shop, guest, url, MOST_VIEWS)
    return {"pages per second, anonymous": _measure(shop, urls, ""), "pages per second, customer with a cart": _measure(shop, urls, guest.visitor.cookie_field("/"))}
