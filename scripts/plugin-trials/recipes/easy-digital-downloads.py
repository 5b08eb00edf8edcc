"""Easy Digital Downloads: products with prices, and an order."""

import re

import content
import entries


def pages(trial):
    trial.site.evaluate("edd_update_option('gateways', array('manual' => '1')); edd_update_option('default_gateway', 'manual'); return 1;")
    number = trial.product = trial.entries["download"][0]
    entries.save_boxes(trial, number, {"edd_price": "12"})
    content.write_page(trial, "downloads", f'[downloads] [purchase_link id="{number}"] [edd_price id="{number}"]')


def _order(trial):
    visitor = trial.site.visitor()
    visitor.get(f"/checkout/?edd_action=add_to_cart&download_id={trial.product}")
    page = visitor.get("/checkout/?payment-mode=manual")
    form = content.forms.find(page.text, lambda form: form.id == "edd_purchase_form")
    if form is None:
        raise entries.Skipped(f"no form for the checkout: {page.status}")
    nonce = re.search(r'name="edd-process-checkout-nonce" value="(\w+)"', page.text)
    changes = {"edd_email": "ann@example.org", "edd_first": "Ann", "edd_last": "Reed", "edd_action": "purchase", "edd-gateway": "manual"}
    changes |= {"edd-process-checkout-nonce": nonce.group(1)} if nonce else {}
    return visitor.post(form.target(page.url), form.pairs(changes))


def change(trial):
    trial.change("price", lambda: entries.save_boxes(trial, trial.product, {"edd_price": "15"}))
    trial.change("order of a visitor", lambda: _order(trial))
    trial.change("discount", lambda: trial.submit(
        "/wp-admin/edit.php?post_type=download&page=edd-discounts&edd-action=add_discount", lambda form: form.field("code"), {
            "name": "Spring", "code": "SPRING", "amount": "10", "amount_type": "percent"}))
    trial.change("currency", lambda: trial.submit(
        "/wp-admin/edit.php?post_type=download&page=edd-settings&tab=general&section=currency", lambda form: form.field("edd_settings[currency]"), {
            "edd_settings[currency]": "EUR"}))
