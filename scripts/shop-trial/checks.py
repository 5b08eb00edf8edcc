"""Compares what visitors of the shop get with PHP's responses."""

import time

import privacy
from comparison import first_difference
from trial import STORED, WAIT_FOR_TIMES


def _difference(shop, expected, answer, others):
    def shown(text):
        return privacy.shown_text(text, shop.trial.missing)

    if expected.status != answer.status or expected.field("location") != answer.field("location"):
        return f"{expected.status} {expected.field('location')}", f"{answer.status} {answer.field('location')}"
    if shown(expected.text) == shown(answer.text):
        return None
    return first_difference(shown(expected.text), shown(answer.text), [shown(other.text) for other in others])


def warm(shop, shopper, url, views):
    """Requests a page until it comes from the cache, at most `views` times; returns the last response.

    Pages for known visitors are first compared with PHP's by Myriad's plugin, while they are fresh: only requests of anonymous visitors renew
    them. A page with "not cut: the ..." is not compared.
    """
    for _ in range(views):
        shop.site.bystander().send("GET", url)
        answer = shopper.get(url)
        status = answer.field("cache-status")
        if "page not cut" not in status or "page not cut: the " in status:
            break
    return answer


def compare(shop, shopper, url, step, tries=1):
    """Compares a page that a visitor gets from the cache with PHP's; returns its cache status.

    With more than one try, only a difference that remains is recorded, because other visitors change the shop meanwhile.
    """
    answer = shopper.get(url)
    for attempt in range(tries):
        if answer.field("x-cache") not in STORED:
            return answer.field("x-cache")
        expected = shop.site.php_page(url, shopper.visitor)
        shopper.tokens |= privacy.tokens_of(expected.text) - shop.public_tokens(url)
        found = _difference(shop, expected, answer, [])
        if found:
            time.sleep(WAIT_FOR_TIMES)
            found = _difference(shop, expected, answer, [shop.site.php_page(url, shopper.visitor) for _ in range(3)])
        if not found:
            break
        if attempt == tries - 1:
            shop.note("another page than PHP's", shopper, answer, *found, step)
        else:
            answer = shopper.get(url)
    return answer.field("x-cache")
