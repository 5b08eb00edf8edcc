"""WooCommerce: products, prices, stock, orders and reviews."""

import content
import entries


def prepare(trial):
    trial.site.evaluate("update_option('woocommerce_coming_soon', 'no'); update_option('woocommerce_store_address', 'Lane 1'); WC_Install::create_pages(); "
                        "delete_transient('_wc_activation_redirect'); update_option('woocommerce_onboarding_profile', array('skipped' => true)); "
                        "update_option('woocommerce_enable_guest_checkout', 'yes'); update_option('woocommerce_cod_settings', array('enabled' => 'yes')); return 1;")


def _product(trial, **data):
    return entries.rest(trial, "POST", "/wc/v3/products", {"type": "simple", "status": "publish", **data}).json()["id"]


def pages(trial):
    category = entries.rest(trial, "POST", "/wc/v3/products/categories", {"name": "Spades"}).json()["id"]
    trial.spade = _product(trial, name="Spade", regular_price="20", manage_stock=True, stock_quantity=2, categories=[{"id": category}])
    trial.rake = _product(trial, name="Rake", regular_price="30", sale_price="25", featured=True)
    for number in (trial.spade, trial.rake):
        trial.add_page(entries.permalink(trial, number), f"product {number}")
    trial.add_page(trial.site.evaluate(f"return get_term_link({category}, 'product_cat');"), "category of products")
    for name, text in {
        "products": "[products]", "recent": "[recent_products]", "sale": "[sale_products]", "best": "[best_selling_products]",
            "top": "[top_rated_products]", "featured": "[featured_products]", "one": f'[product id="{trial.spade}"] [add_to_cart id="{trial.spade}"]'}.items():
        content.write_page(trial, "shop-" + name, text)


def _order(trial):
    visitor = trial.site.visitor()
    cart = visitor.send("GET", "/wp-json/wc/store/v1/cart")
    fields = {"Content-Type": "application/json", "Nonce": cart.field("nonce"), "Cart-Token": cart.field("cart-token")}
    visitor.send("POST", "/wp-json/wc/store/v1/cart/add-item", f'{{"id": {trial.spade}, "quantity": 1}}'.encode(), fields)
    address = ('{"first_name":"Ann","last_name":"Reed","address_1":"Lane 1","city":"Leeds","postcode":"LS1 1AA","country":"GB","email":"ann@example.org",'
               '"phone":"01130000000","state":"","company":"","address_2":""}')
    body = f'{{"billing_address":{address},"shipping_address":{address},"payment_method":"cod"}}'
    answer = visitor.send("POST", "/wp-json/wc/store/v1/checkout", body.encode(), fields)
    if answer.status >= 400:
        raise entries.Skipped(f"checkout: {answer.status} {answer.text[:200]}")
    return answer


def _save(trial, number, **data):
    return entries.rest(trial, "PUT", f"/wc/v3/products/{number}", data)


def change(trial):
    trial.change("price", lambda: _save(trial, trial.spade, regular_price="22"))
    trial.change("price in the edit screen", lambda: entries.save_classic(
        trial, trial.admin.get(f"/wp-admin/post.php?post={trial.rake}&action=edit"), {"_regular_price": "35", "_sale_price": "21"}))
    trial.change("sale begins", lambda: _save(trial, trial.spade, sale_price="18"))
    trial.change("new product", lambda: entries.rest(trial, "POST", "/wc/v3/products", {
        "name": "Hoe", "type": "simple", "status": "publish", "regular_price": "15", "sale_price": "12", "featured": True}))
    trial.change("order of a visitor", lambda: _order(trial))
    trial.change("order of the last item", lambda: _order(trial))
    trial.change("stock", lambda: _save(trial, trial.spade, stock_quantity=50))
    trial.change("review", lambda: entries.rest(trial, "POST", "/wc/v3/products/reviews", {
        "product_id": trial.spade, "review": "Digs well.", "reviewer": "Ann", "reviewer_email": "ann@example.org", "rating": 5}))
    trial.change("name of a category of products", lambda: trial.site.evaluate(
        "return wp_update_term(get_term_by('name', 'Spades', 'product_cat')->term_id, 'product_cat', array('name' => 'Shovels'));"))
    trial.change("tax rate", lambda: entries.rest(trial, "POST", "/wc/v3/taxes", {"country": "", "rate": "20", "name": "VAT"}))
    for name, value in (("woocommerce_calc_taxes", "yes"), ("woocommerce_tax_display_shop", "incl"), ("woocommerce_currency", "EUR")):
        group = "general" if name != "woocommerce_tax_display_shop" else "tax"
        trial.change(f"setting {name}", lambda g=group, n=name, v=value: entries.rest(trial, "PUT", f"/wc/v3/settings/{g}/{n}", {"value": v}))
    trial.change("deletion of a product", lambda: entries.rest(trial, "DELETE", f"/wc/v3/products/{trial.rake}"))
