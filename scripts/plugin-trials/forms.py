"""Forms and links of HTML pages."""

import html.parser
import re
import urllib.parse

NONCE = re.compile(r"nonce|^_wpn|token|csrf", re.I)
TEXT_TYPES = {"text", "textarea", "number", "search", "tel", ""}


class Field:
    """Control of a form."""

    def __init__(self, name, kind, value, is_on=True):
        self.name, self.kind, self.value, self.is_on = name, kind, value, is_on
        self.options, self.chosen, self.attributes = [], [], {}

    def pairs(self):
        """Returns the names and values that a browser submits for this control."""
        if self.kind in ("submit", "button", "image", "reset", "file") or not self.name:
            return []
        if self.kind == "select":
            chosen = self.chosen or ([] if "multiple" in self.attributes else self.options[:1])
            return [(self.name, value) for value in chosen]
        if self.kind in ("checkbox", "radio") and not self.is_on:
            return []
        return [(self.name, self.value)]


class Form:
    """Form of a page."""

    def __init__(self, attributes):
        self.attributes, self.fields = attributes, []
        self.id = attributes.get("id", "")
        self.method = attributes.get("method", "get").lower()

    def target(self, page_url):
        """Returns the address to which the form is submitted."""
        return urllib.parse.urljoin(page_url, self.attributes.get("action") or page_url)

    def has_nonce(self):
        """Returns True if a hidden control looks like a nonce."""
        return any(field.kind == "hidden" and NONCE.search(field.name) for field in self.fields)

    def is_multipart(self):
        """Returns True if the form is submitted in parts."""
        return "multipart" in self.attributes.get("enctype", "").lower()

    def field(self, name):
        """Returns the first control with a name; None if there is none."""
        return next((field for field in self.fields if field.name == name), None)

    def submits(self):
        """Returns the submit buttons with a name."""
        return [field for field in self.fields if field.kind == "submit" and field.name]

    def pairs(self, changes=None, button=None):
        """Returns the names and values that a browser submits after changes (name: value), with a button."""
        changes, pairs = dict(changes or {}), []
        for field in self.fields:
            if field.name in changes and field.kind not in ("submit", "button"):
                pairs += [(name, value) for name, value in [(field.name, changes.pop(field.name))] if value is not None]
            elif field.name not in (changes or {}) or field.kind == "submit":
                pairs += field.pairs()
        pairs += [(name, value) for name, value in changes.items() if value is not None]
        if button is not None:
            pairs.append((button.name, button.value))
        return pairs


class _Parser(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.forms, self.links, self.by_id = [], [], {}
        self.open, self.select, self.area, self.option = None, None, None, None
        self.orphans = []

    def handle_starttag(self, tag, attrs):
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.open = Form(attributes)
            self.forms.append(self.open)
            self.by_id[self.open.id] = self.open
        elif tag == "a" and attributes.get("href"):
            self.links.append((attributes["href"], attributes))
        elif tag == "option" and self.select is not None:
            value = attributes.get("value", "")
            self.select.options.append(value)
            if "selected" in attributes:
                self.select.chosen.append(value)
        elif tag in ("input", "select", "textarea", "button") and "disabled" not in attributes:
            self._control(tag, attributes)

    def _control(self, tag, attributes):
        kind = {"select": "select", "textarea": "textarea"}.get(tag) or attributes.get(
            "type", "submit" if tag == "button" else "text").lower()
        default = "on" if kind in ("checkbox", "radio") else ""
        field = Field(attributes.get("name", ""), kind, attributes.get("value", default), "checked" in attributes)
        field.attributes = attributes
        if tag == "select":
            self.select = field
        elif tag == "textarea":
            self.area = field
        if attributes.get("form"):
            self.orphans.append((attributes["form"], field))
        elif self.open is not None:
            self.open.fields.append(field)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_data(self, data):
        if self.area is not None:
            self.area.value += data

    def handle_endtag(self, tag):
        if tag == "form":
            self.open = None
        elif tag == "select":
            self.select = None
        elif tag == "textarea":
            if self.area is not None:
                self.area.value = self.area.value.removeprefix("\n")
            self.area = None


def parse(text):
    """Returns the forms of a page, and its links as pairs of address and attributes."""
    parser = _Parser()
    parser.feed(text)
    for owner, field in parser.orphans:
        if owner in parser.by_id:
            parser.by_id[owner].fields.append(field)
    return parser.forms, parser.links


def find(text, test):
    """Returns the first form for which a function returns True; None if there is none."""
    return next((form for form in parse(text)[0] if test(form)), None)
