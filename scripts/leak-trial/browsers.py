"""Browsers of the crawls: each has the cookies of statistics, consent banners, shops and languages, with realistic values, and a public address."""

import base64
import json
import random
import urllib.parse

AGENTS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15",
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0",
)
LANGUAGES = ("en-US,en;q=0.9", "de-DE,de;q=0.9,en;q=0.7", "fr-FR,fr;q=0.9", "en-GB,en;q=0.8", "es-ES,es;q=0.9")
CHOICES = {
    "wp_lang": ("de_DE", "fr_FR", "en_GB", "pt_BR"), "pll_language": ("de", "en", "fr"), "wp-wpml_current_language": ("de", "en"), "currency": ("EUR", "USD", "CHF"),
    "timezone": ("Europe/Berlin", "America/New_York", "Asia/Kolkata"), "color-mode": ("dark", "light"), "theme": ("dark-mode", "light-mode"),
    "cookie_notice_accepted": ("true", "false"), "viewed_cookie_policy": ("yes", "no"), "cmplz_banner-status": ("dismissed",), "cmplz_marketing": ("allow", "deny"),
    "cookielawinfo-checkbox-necessary": ("yes",), "OptanonAlertBoxClosed": ("2026-11-02T09:14:32.125Z", "2026-10-17T18:44:01.007Z"),
    "wordpress_test_cookie": ("WP%20Cookie%20check",), "wp-settings-time-1": ("1761900000", "1762800000"), "last_visited_page": ("/about/company/", "/products/"),
    "catalog_view": ("grid", "list"), "sort_order": ("price-ascending", "newest-first"), "referrer_source": ("newsletter", "duckduckgo")}


class Browser:
    """Browser with a cookie jar; a number determines all of its values."""

    def __init__(self, number, host="localhost"):
        self.random = random.Random(f"browser {number}")
        self.agent, self.languages = self.random.choice(AGENTS), self.random.choice(LANGUAGES)
        self.address = f"{self.random.choice((62, 81, 89, 146, 178, 212))}.{self.random.randrange(1, 255)}.{self.random.randrange(1, 255)}.{self.random.randrange(1, 255)}"
        self.jar = self._statistics() | self._consent() | self._sources(host) | self._choices() | self._recent()

    def digits(self, count):
        """Returns a random number of some digits."""
        return str(self.random.randrange(10 ** (count - 1), 10**count))

    def hexadecimal(self, count):
        """Returns a random text of hexadecimal digits."""
        return f"{self.random.getrandbits(4 * count):0{count}x}"

    def _moment(self):
        return self.random.randrange(1_760_000_000, 1_764_000_000)

    def _statistics(self):
        moment, ident = self._moment(), f"{self.digits(9)}.{self._moment()}"
        user = base64.b64encode(json.dumps({"id": self.hexadecimal(32), "created": moment * 1000, "existing": True}).encode()).decode()
        all_of = {
            "_ga": f"GA1.1.{ident}", "_gid": f"GA1.2.{self.digits(9)}.{moment}", f"_ga_{self.hexadecimal(10).upper()}": f"GS2.1.s{moment}$o3$g1$t{moment + 77}$j60$l0$h0",
            "_gcl_au": f"1.1.{self.digits(9)}.{moment}", "_fbp": f"fb.1.{moment}123.{self.digits(18)}", "_hjSessionUser_3141592": urllib.parse.quote(user),
            "_pk_id.1.1fff": f"{self.hexadecimal(16)}.{moment}.", "_pk_ses.1.1fff": "1", "_clck": f"{self.hexadecimal(6)}%7C2%7Cfzw%7C0%7C2107", "_uetvid": self.hexadecimal(32),
            "__utma": f"{self.digits(9)}.{self.digits(10)}.{moment}.{moment}.{moment}.1", "hubspotutk": self.hexadecimal(32), "_ttp": self.hexadecimal(27), "tk_ai": self.hexadecimal(24),
            "__stripe_mid": f"{self.hexadecimal(8)}-{self.hexadecimal(4)}-4{self.hexadecimal(3)}-9{self.hexadecimal(3)}-{self.hexadecimal(18)}"}
        return self._some(all_of, 7)

    def _consent(self):
        moment = self._moment()
        robot = f"{{stamp:'{self.hexadecimal(32)}==',necessary:true,preferences:true,statistics:false,marketing:false,method:'explicit',ver:1,utc:{moment}000,region:'de'}}"
        borlabs = {"consents": {"essential": ["borlabs-cookie"], "statistics": ["google-analytics"]}, "domainPath": "localhost/", "expires": "Sun, 29 Nov 2027 09:14:32 GMT", "uid": self.hexadecimal(24), "version": "1"}
        all_of = {
            "CookieConsent": urllib.parse.quote(robot), "borlabs-cookie": urllib.parse.quote(json.dumps(borlabs)),
            "cookieyes-consent": f"consentid:{self.hexadecimal(22)},consent:yes,action:yes,necessary:yes,functional:yes,analytics:yes,performance:yes,advertisement:no",
            "OptanonConsent": f"isGpcEnabled=0&datestamp=Sun+Nov+02+2026+10%3A14%3A32+GMT%2B0100&version=202409.1.0&consentId={self.hexadecimal(32)}&interactionCount=1&groups=C0001%3A1%2CC0002%3A0",
            "moove_gdpr_popup": urllib.parse.quote(json.dumps({"strict": 1, "thirdparty": 1, "advanced": 0})), "euconsent-v2": f"CQ{self.hexadecimal(40)}.YAAAAAAAAAAA"}
        return self._some(all_of, 1)

    def _sources(self, host):
        page = f"http://{host}/"
        moment = "2026-11-%02d 09:1%d:32" % (self.random.randrange(1, 29), self.random.randrange(10))
        source = self.random.choice(("typ=typein|||src=(direct)|||mdm=(none)|||cmp=(none)|||cnt=(none)|||trm=(none)", "typ=organic|||src=google|||mdm=organic|||cmp=(none)|||cnt=(none)|||trm=(none)"))
        added = f"fd={moment}|||ep={page}|||rf=(none)"
        values = {
            "sbjs_migrations": "1418474375998=1", "sbjs_current": source, "sbjs_first": source, "sbjs_current_add": added, "sbjs_first_add": added,
            "sbjs_udata": f"vst=1|||uip=(none)|||uag={self.agent}", "sbjs_session": f"pgs={self.random.randrange(1, 9)}|||cpg={page}"}
        landing = {"mailchimp_landing_site": page, "pys_landing_page": page, "pysTrafficSource": "direct", "last_pysTrafficSource": "google.com"}
        return {name: urllib.parse.quote(value) for name, value in (values | self._some(landing, 2)).items()}

    def _choices(self):
        return self._some({name: self.random.choice(values) for name, values in CHOICES.items()}, 5)

    def _recent(self):
        numbers = "|".join(str(self.random.randrange(10, 400)) for _ in range(self.random.randrange(1, 6)))
        return self._some({"woocommerce_recently_viewed": urllib.parse.quote(numbers), "yith_wcwl_session": self.hexadecimal(32), "recent_posts": urllib.parse.quote("[" + numbers.replace("|", ",") + "]")}, 1)

    def _some(self, values, count):
        names = self.random.sample(sorted(values), min(count, len(values)))
        return {name: values[name] for name in names}

    def fields(self, host="localhost"):
        """Returns the header fields of a request."""
        cookies = "; ".join(f"{name}={value}" for name, value in self.jar.items())
        return {
            "Host": host, "User-Agent": self.agent, "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "Accept-Language": self.languages,
            "X-Forwarded-For": self.address, "Cookie": cookies}

    def store(self, lines):
        """Stores the cookies of `Set-Cookie` fields."""
        for line in lines:
            name, _, value = line.split(";", 1)[0].partition("=")
            if value in ("", "deleted") or "max-age=0" in line.lower():
                self.jar.pop(name.strip(), None)
            else:
                self.jar[name.strip()] = value
