"""Leaks that scripts/try-leaks seeds in applications, the requests that cause them, and the texts that no other visitor may get."""

import base64
import dataclasses
import hashlib
import html
import json
import random
import urllib.parse

WORDPRESS, MEDIAWIKI, DOKUWIKI = "wordpress", "mediawiki", "dokuwiki"
ALL = (WORDPRESS, MEDIAWIKI, DOKUWIKI)
# Found before a second client gets the page; by a comparison with anonymous requests; by canaries in fields that are not in the key.
STORED, COMPARED, CANARY = "store time", "comparison", "canary"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1"
CHROME = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
# Cookies that statistics and consent banners set.
ORDINARY = {"_ga": "GA1.1.{0}.17{1}", "_fbp": "fb.1.17{1}123.{0}", "cookieyes-consent": "consentid%3Acm{0}%2Cconsent%3Ayes%2Canalytics%3Ayes"}


@dataclasses.dataclass(frozen=True)
class Person:
    """Visitor with the data that applications know about the session, and a cookie jar."""

    login: str
    name: str
    email: str
    address_of_client: str
    agent: str
    languages: str
    number: int

    def random(self, purpose):
        """Returns a random value of this visitor, which is the same for equal purposes."""
        return f"{random.Random(f'{self.login} {purpose}').getrandbits(96):024x}"

    def profile(self):
        """Returns the data that the applications know about the session."""
        place = "Marktgasse" if self.number == 1 else "Abbey Lane"
        return {
            "login": self.login, "name": self.name, "email": self.email, "address": f"{place} {40 + self.number}, 84{self.number}00 Winterthur",
            "telephone": f"+41 52 555 0{self.number} 7{self.number}", "points": 4170 + self.number, "unread": 3 + self.number,
            "cart": [f"{2 + self.number} x Walnut cutting board for {self.login}", "1 x Copper kettle"],
            "orders": [f"2026-00{self.number}713", f"2026-00{self.number}984"], "wishes": [f"Linen apron of {self.login}", "Bread knife"]}

    def ordinary_cookies(self):
        """Returns cookies that most visitors have."""
        numbers = random.Random(self.login)
        return {name: text.format(numbers.randrange(10**8, 10**9), numbers.randrange(10**7, 10**8)) for name, text in ORDINARY.items()}


FIRST = Person("zephyrine", "Zéphyrine O'Hára", "zephyrine.ohara@example.org", "203.0.113.77", CHROME, "de-CH,de;q=0.9", 1)
SECOND = Person("balthazar", "Balthazar Thornapple", "balthazar.t@example.net", "198.51.100.23", FIREFOX, "en-GB,en;q=0.8", 2)
# Clients after the second one; they have no data.
OTHERS = Person("visitor", "", "", "198.51.100.99", FIREFOX, "en-GB,en;q=0.8", 3)


@dataclasses.dataclass(frozen=True)
class Leak:
    """Leak: the additional cookies, fields and arguments of a visitor's request, the text that the response must contain, and what the finding must name."""

    name: str
    kind: str
    cookies: object = None
    fields: object = None
    arguments: object = None
    text: object = None
    names: str = ""
    sites: tuple = ALL
    # True if the text is in a field.
    in_field: bool = False
    # Regular expression whose group is the text, in the response to the first visitor; in place of `text`.
    pattern: str = ""
    # Path of the page, in place of the application's page.
    path: str = ""
    agent: str = ""

    def of(self, part, person):
        """Returns a part of the leak for a visitor: cookies, fields, arguments or the text; a function makes it from the visitor."""
        value = getattr(self, part)
        return value(person) if callable(value) else value

    def cookies_of(self, person):
        """Returns all cookies of a visitor's request."""
        return person.ordinary_cookies() | (self.of("cookies", person) or {})

    def fields_of(self, person):
        """Returns the header fields of a visitor's request."""
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies_of(person).items())
        fields = {"Host": f"{self.name}.test", "User-Agent": (person is FIRST and self.agent) or person.agent, "Accept-Language": person.languages,
                  "X-Forwarded-For": person.address_of_client, "Cookie": cookies}
        return fields | (self.of("fields", person) or {})

    def query_of(self, person):
        """Returns the query string of a visitor's request, without `?`. Its arguments are not in the key."""
        arguments = self.of("arguments", person)
        return "unkeyed=1&" + urllib.parse.urlencode(arguments) if arguments else ""


def _name(person):
    return {"member_name": urllib.parse.quote(person.name)}


def _email(person):
    return {"member_email": urllib.parse.quote(person.email)}


def _visitor(person):
    return {"visitor": person.random("visitor")}


def _session(person):
    return {"member": person.random("member")}


def _php_html(text):
    return html.escape(text, quote=True).replace("&#x27;", "&#039;")


def _json(value):
    return json.dumps(value).replace("/", "\\/")[1:-1]


def _jwt(person):
    parts = ({"alg": "HS256"}, {"sub": person.login, "name": person.name})
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return {"jwt": ".".join([*encoded, person.random("signature")])}


def _basic(person):
    return {"Authorization": "Basic " + base64.b64encode(f"{person.login}:{person.random('password')}".encode()).decode()}


def _stored(name, text, names, cookies=None, **more):
    return Leak(name, STORED, cookies=cookies, text=text, names=names, **more)


def _of_session(name, text, **more):
    return Leak(name, COMPARED, cookies=_session, text=lambda person: _php_html(text(person.profile())), **more)


def _of_first(cookies):
    """Returns cookies that only the first visitor has."""
    return lambda person: cookies if person is FIRST else {}


def _variant(name, text, cookies=None, **more):
    return Leak(name, COMPARED, cookies=_of_first(cookies) if isinstance(cookies, dict) else cookies, text=text, **more)


def _canary(name, field, value, text, names=None, **more):
    """Returns a leak of a field that only the first visitor sends."""
    return Leak(name, CANARY, fields=lambda person: {field: value} if person is FIRST else {}, text=text, names=names or field, **more)


OF_VALUES = [
    _stored("cookie-name", lambda p: _php_html(p.name), "member_name", _name),
    _stored("cookie-email-json", lambda p: p.email, "member_email", _email),
    _stored("cookie-url", lambda p: urllib.parse.quote_plus(p.name), "member_name", _name),
    _stored("cookie-raw-url", lambda p: urllib.parse.quote(p.name), "member_name", _name),
    _stored("cookie-base64", lambda p: base64.b64encode(f"v1:{p.email}:end".encode()).decode(), "member_email", _email),
    _stored("cookie-json", lambda p: _json(p.name), "member_name", _name),
    _stored("cookie-json-attribute", lambda p: _php_html(_json(p.name)), "member_name", _name),
    _stored("cookie-numeric-html", lambda p: "".join(c if c < "\x80" else f"&#{ord(c)};" for c in _php_html(p.name)), "member_name", _name),
    _stored("cookie-named-html", lambda p: _php_html(p.name).replace("é", "&eacute;").replace("á", "&aacute;"), "member_name", _name),
    _stored("cookie-double-url", lambda p: urllib.parse.quote(urllib.parse.quote(p.email)), "member_email", _email),
    *(_stored(name, lambda p: p.random("visitor"), "visitor", _visitor) for name in ("cookie-in-script", "cookie-in-comment", "cookie-in-field-of-form")),
    _stored("session-in-links", lambda p: p.random("shop"), "shopsid", lambda p: {"shopsid": p.random("shop")}),
    *(_stored(name, lambda p: p.random("visitor"), "visitor", _visitor, in_field=True) for name in ("token-in-header", "token-in-link-header")),
    _stored("gzip", lambda p: _php_html(p.name), "member_name", _name),
    _stored("flushes", lambda p: p.random("visitor"), "visitor", _visitor, sites=(WORDPRESS, DOKUWIKI)),
    _stored("address", lambda p: p.address_of_client, "client address"),
    _stored("agent", lambda p: p.agent, "User-Agent"),
    _stored("credentials", lambda p: f"Signed in as {p.login}", "credentials", fields=_basic),
    _stored("argument-email", lambda p: p.email, "mail", arguments=lambda p: {"mail": p.email}),
    _stored("argument-token", lambda p: p.random("token"), "token", arguments=lambda p: {"token": p.random("token")}),
    _stored("new-cookie-in-links", None, "visit", pattern=r'visit=([0-9a-f]+)"'),
    _stored("new-cookie-json", None, "cid", pattern=r'"client":"([0-9a-f]+)"'),
    _stored("form-token", None, "token of a form", pattern=r'name="_token" value="([0-9a-f]+)"'),
    _stored("csrf-meta", None, "token of a form", pattern=r'name="csrf-token" content="([0-9a-f]+)"'),
    _stored("admin-bar", 'id="wpadminbar"', "logged-in visitor", _of_first({"member": FIRST.random("member")}), sites=(WORDPRESS,)),
    _stored("logged-in-class", None, "logged-in visitor", _of_first({"member": FIRST.random("member")}), sites=(WORDPRESS,), pattern=r'<body class="([^"]*logged-in[^"]*)"'),
    _stored("rest-email", lambda p: p.email, "member_email", _email, sites=(WORDPRESS,), path="/index.php?rest_route=/trial/v1/me"),
    _stored("feed-token", lambda p: p.random("visitor"), "visitor", _visitor, sites=(WORDPRESS,), path="/feed/"),
]
OF_SESSIONS = [
    _of_session("session-greeting", lambda data: data["name"]),
    _of_session("session-cart", lambda data: data["cart"][0]),
    _of_session("session-address", lambda data: data["address"]),
    _of_session("session-telephone", lambda data: data["telephone"]),
    _of_session("session-email-json", lambda data: data["email"]),
    _of_session("session-orders", lambda data: data["orders"][0]),
    _of_session("session-wishlist", lambda data: data["wishes"][0]),
    _of_session("session-points", lambda data: f"{data['points']} points"),
    _of_session("session-unread", lambda data: f"{data['unread']} messages"),
    Leak("session-token", COMPARED, cookies=_session, text=lambda p: hashlib.md5(f"nonce {p.random('member')}".encode()).hexdigest()[:10]),
    Leak("session-title", COMPARED, cookies=_session, text=lambda p: "title = " + json.dumps(p.name)[:-1]),
    Leak("session-header", COMPARED, cookies=_session, text=lambda p: urllib.parse.quote(p.name), in_field=True),
    _of_session("session-feed", lambda data: data["name"], sites=(WORDPRESS,), path="/feed/"),
    _of_session("session-rest", lambda data: data["email"], sites=(WORDPRESS,), path="/index.php?rest_route=/trial/v1/me"),
]
OF_VARIANTS = [
    _variant("price-of-group", "61.37 EUR", {"group": "wholesale"}),
    _variant("currency", "CHF 94.15", {"cur": "CHF"}),
    _variant("ab-test", "Try the new editor today", {"exp": "b"}),
    _variant("recently-viewed", "Product number 4711 of the catalogue", {"rv": "4711%7C4712"}),
    _variant("jwt-claim", lambda p: _php_html(p.name), _jwt),
    _variant("cookie-json-part", lambda p: _php_html(p.name), lambda p: {"profile": urllib.parse.quote(json.dumps({"id": p.number, "name": p.name}))}),
    _variant("cookie-part", lambda p: _php_html(p.name), lambda p: {"ident": urllib.parse.quote(f"{p.number}|{p.name}|{p.random('ident')}")}),
    _variant("short-name", "Hello, Edeltra", {"nick": "Edeltra"}),
    _variant("upper-case-name", lambda p: _php_html(p.name.upper()), _name),
    _variant("order-number", "order: 8800471", {"order": "8800471"}),
    _variant("dark-mode", "page-dark", {"mode": "dark"}),
    _variant("time-zone", "Tokyo time", {"tz": "540"}),
    _variant("city-of-address", "Winterthur"),
    _variant("language-of-country", "Willkommen in unserem Laden", fields=lambda p: {"X-Country": "DE" if p is FIRST else "GB"}),
    _variant("accept-language", "Guten Tag und herzlich willkommen"),
    _variant("accept-language-without-vary", '<html lang="de">'),
    _variant("agent-mobile", "Menu for telephones", agent=PHONE),
    _variant("search-of-referrer", "You searched for gifts for my sister", fields=lambda p: {"Referer": "https://www.example.com/?q=gifts+for+my+sister"} if p is FIRST else {}),
]
OF_FIELDS = [
    _canary("forwarded-host", "X-Forwarded-Host", "evil.test", "//evil.test/"),
    _canary("forwarded-proto", "X-Forwarded-Proto", "javascript", "javascript://shop.test"),
    _canary("forwarded-prefix", "X-Forwarded-Prefix", "/evil", 'href="/evil/account"'),
    _canary("forwarded-port", "X-Forwarded-Port", "8443", "shop.test:8443"),
    _canary("forwarded", "Forwarded", "for=evil;host=evil.test", "Via for=evil"),
    _canary("original-url", "X-Original-URL", "/evil", 'href="/evil/account"'),
    _canary("rewrite-url", "X-Rewrite-URL", "/evil", 'href="/evil/account"'),
    _canary("x-host", "X-Host", "evil.test", "//evil.test/app.js"),
    _canary("client-address-field", "True-Client-IP", "evil.test", "from evil.test"),
    _canary("referrer", "Referer", "http://evil.test/", 'value="http://evil.test/"'),
    _canary("tenant", "X-Tenant", "evil", 'tenant = "evil"', names=""),
    _canary("country-field", "CF-IPCountry", "XX", 'data-country="XX"'),
    _canary("origin", "Origin", "http://evil.test", "http://evil.test", in_field=True),
    _canary("home-of-forwarded-host", "X-Forwarded-Host", "evil.test", "//evil.test/", sites=(WORDPRESS,)),
]
LEAKS = OF_VALUES + OF_SESSIONS + OF_VARIANTS + OF_FIELDS


def people():
    """Returns the data of all members by the value of their session cookie, for the applications."""
    return {person.random("member"): person.profile() for person in (FIRST, SECOND)}
