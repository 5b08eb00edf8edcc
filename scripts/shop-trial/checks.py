"""Compares what visitors of the shop get with PHP's responses."""

import json
import re
import time

import privacy
from comparison import first_difference
from trial import STORED, WAIT_FOR_TIMES

MOST_TASKS = 2
DATA = re.compile(r"(<script\b[^>]*wp-script-module-data-@wordpress/interactivity[^>]*>)(.*?)(?=</script>)", re.S)
BOUND = re.compile(r"<\w+\b[^<>]*\sdata-wp-bind--[^<>]*>")
ITEM = re.compile(r"<(\w+)\b[^<>]*\sdata-wp-each-child\b[^<>]*>")
TEXT = re.compile(r"(<(\w+)\b[^<>]*\sdata-wp-text=[^<>]*>)[^<>]*(?=</\2>)")
HINT = re.compile(r"<link\b[^<>]*\brel=[\"']prefetch[\"'][^<>]*>")
QUANTITY = re.compile(r"(\"|&quot;)tempQuantity\1:\d+")


def _unbound(tag):
    names = "|".join(re.findall(r"\sdata-wp-bind--([\w-]+)", tag.group()))
    return re.sub(rf"\s(?:{names})(?:=(?:\"[^\"]*\"|'[^']*'))?(?=[\s/>])", "", tag.group())


def _without_items(text):
    """Removes from a page the items of lists that browsers compute, with the elements in them."""
    while item := ITEM.search(text):
        depth, end = 1, len(text)
        for tag in re.compile(rf"<(/?){item.group(1)}\b[^<>]*>").finditer(text, item.end()):
            depth += -1 if tag.group(1) else 1
            if depth == 0:
                end = tag.end()
                break
        text = text[:item.start()] + text[end:]
    return text


def _without_computed(text):
    """Removes from a page what browsers compute from the cart in the data for scripts, and hints for the scripts of a filled cart.

    screens.py compares what browsers have computed.
    """
    data = DATA.search(text)
    state = json.loads(data.group(2)).get("state", {}) if data else {}
    if "cart" not in state.get("woocommerce", {}):
        return text
    shown = {name: values for name, values in state.items() if not name.startswith("woocommerce/mini-cart")}
    text = DATA.sub(lambda found: found.group(1) + json.dumps(json.loads(found.group(2)) | {"state": shown}), text)
    return BOUND.sub(_unbound, QUANTITY.sub("", TEXT.sub(r"\1", _without_items(HINT.sub("", text)))))


def _difference(shop, expected, answer, others):
    def shown(text):
        return privacy.shown_text(_without_computed(text), shop.trial.missing)

    if expected.status != answer.status or expected.field("location") != answer.field("location"):
        return f"{expected.status} {expected.field('location')}", f"{answer.status} {answer.field('location')}"
    if shown(expected.text) == shown(answer.text):
        return None
    return first_difference(shown(expected.text), shown(answer.text), [shown(other.text) for other in others])


def warm(shop, shopper, url, views):
    """Requests a page until Myriad's plugin has compared it, at most `views` times; returns the last response.

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

    With more than one try, only a difference that remains is recorded, because other visitors change the shop meanwhile. A scheduled task
    that runs between the two requests permits another try.
    """
    tasks, answer = shop.site.cron_runs(), shopper.get(url)
    for attempt in range(1, tries + MOST_TASKS + 1):
        if answer.field("x-cache") not in STORED:
            break
        expected = shop.site.php_page(url, shopper.visitor)
        shopper.tokens |= privacy.tokens_of(expected.text) - shop.public_tokens(url)
        found = _difference(shop, expected, answer, [])
        if found:
            time.sleep(WAIT_FOR_TIMES)
            found = _difference(shop, expected, answer, [shop.site.php_page(url, shopper.visitor) for _ in range(3)])
        if not found:
            break
        before, tasks = tasks, shop.site.cron_runs()
        if attempt >= tries and (tasks == before or attempt == tries + MOST_TASKS):
            shop.note("another page than PHP's", shopper, answer, *found, step)
            break
        answer = shopper.get(url)
    return answer.field("x-cache")
