//! Request fields of sampled verifications: requests without data of a visitor, with single inputs of a visitor, and
//! with invented values (canaries) in fields that are not in the cache key.

use memchr::memmem;
use myriad_http::{Fields, Known};

use crate::{DeviceClass, VaryRule};

/// Fields into which a sampled request writes a canary, one per line.
const UNKEYED_FIELDS: &str = include_str!("unkeyed_fields.list");
/// Field that no application knows. Its canary occurs in a page that prints all fields.
const UNKNOWN_FIELD: &str = "x-myriad-canary";

/// Fields of browsers and of connections that do not make one visitor's page differ from another's, or that a request
/// for a stored page does not send anyway.
const GENERAL_FIELDS: [&[u8]; 17] = [
    b"host",
    b"connection",
    b"accept",
    b"accept-encoding",
    b"accept-language",
    b"user-agent",
    b"cache-control",
    b"pragma",
    b"if-modified-since",
    b"if-none-match",
    b"if-match",
    b"if-unmodified-since",
    b"if-range",
    b"range",
    b"te",
    b"upgrade-insecure-requests",
    b"priority",
];

/// Input of a request that may change the response: a cookie, a field, or the client's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestInput {
    /// Cookie, as `name=value`.
    Cookie(Box<[u8]>),
    /// Field with its value.
    Field(Box<[u8]>, Box<[u8]>),
    /// Address of the client.
    Address,
}

impl RequestInput {
    /// Returns the name of the cookie or field; empty for an address.
    pub fn name(&self) -> &[u8] {
        match self {
            Self::Cookie(pair) => pair.split(|byte| *byte == b'=').next().unwrap_or_default(),
            Self::Field(name, _) => name,
            Self::Address => b"",
        }
    }

    /// Returns true for inputs that belong to one visitor: cookies and credentials.
    pub fn identifies_visitor(&self) -> bool {
        match self {
            Self::Cookie(_) => true,
            Self::Field(name, _) => name.eq_ignore_ascii_case(b"authorization"),
            Self::Address => false,
        }
    }

    /// Returns bytes that are equal for inputs which are assumed to have the same effect: the kind (cookie, field or
    /// address) and name, followed by the value if the value has at most 8 bytes or belongs to `User-Agent` or
    /// `Accept-Language`. A longer value is more likely an id of one visitor than a choice, and is left out.
    pub fn identity(&self) -> Vec<u8> {
        const MAX_CHOICE: usize = 8;
        let (kind, name) = match self {
            Self::Cookie(_) => (b'c', self.name().to_vec()),
            Self::Field(name, _) => (b'f', name.to_ascii_lowercase()),
            Self::Address => (b'a', Vec::new()),
        };
        let is_of_browser = kind == b'f' && (name == b"user-agent" || name == b"accept-language");
        let value = match self {
            Self::Cookie(pair) => pair.get(name.len() + 1..).unwrap_or_default(),
            Self::Field(_, value) => value,
            Self::Address => &[],
        };
        let mut identity = [&[kind][..], &name].concat();
        if is_of_browser || value.len() <= MAX_CHOICE {
            identity.push(b'=');
            identity.extend_from_slice(value);
        }
        identity
    }

    /// Changes the fields of a request so that it has this input. An address changes no field.
    pub fn add_to(&self, fields: &mut Fields) {
        match self {
            Self::Cookie(pair) => {
                let joined = match fields.known(Known::Cookie) {
                    Some(others) => [others, b"; ", pair].concat(),
                    None => pair.to_vec(),
                };
                fields.set_known(Known::Cookie, &joined);
            }
            Self::Field(name, value) => fields.set(name, value),
            Self::Address => {}
        }
    }
}

/// Returns the fields of a request that are specific to its visitor or to a proxy in front: all except cookies,
/// `Authorization`, `Sec-*`, and general fields of browsers such as `Accept`.
pub fn special_fields(fields: &Fields) -> Fields {
    fields
        .iter_known()
        .filter(|(known, name, _)| is_special(*known, name))
        .map(|(_, name, value)| (name, value))
        .collect()
}

fn is_special(known: Option<Known>, name: &[u8]) -> bool {
    let is_hint = name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"sec-"));
    !is_hint
        && !matches!(known, Some(Known::Cookie | Known::Authorization))
        && !GENERAL_FIELDS.iter().any(|general| name.eq_ignore_ascii_case(general))
}

/// Returns the fields of a request without `X-Myriad-Probe`, cookies, credentials, and the special fields that differ
/// from those of another visitor's request (`reference`); and the inputs that were removed (except `X-Myriad-Probe`).
/// No field of the other visitor is added: all requests of a verification are parts of one request.
pub fn without_visitor(fields: &Fields, reference: Option<&Fields>) -> (Fields, Vec<RequestInput>) {
    let mut inputs = Vec::new();
    let mut base = Fields::new();
    for (known, name, value) in fields.iter_known() {
        let is_other = || {
            reference.is_some_and(|reference| {
                is_special(known, name) && !reference.get_all(name).any(|other| other == value)
            })
        };
        match known {
            // The mark of a client is not forwarded.
            Some(Known::XMyriadProbe) => {}
            Some(Known::Cookie) => {
                let pairs = value.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
                let pairs = pairs.filter(|pair| !pair.is_empty());
                inputs.extend(pairs.map(|pair| RequestInput::Cookie(pair.into())));
            }
            Some(Known::Authorization) => inputs.push(RequestInput::Field(name.into(), value.into())),
            _ if is_other() => inputs.push(RequestInput::Field(name.into(), value.into())),
            _ => base.push(name, value),
        }
    }
    (base, inputs)
}

/// Replaces the `User-Agent` of a request by that of an ordinary desktop browser, and removes `Accept-Language`.
/// Returns the inputs that were replaced or removed.
pub fn without_browser(base: &mut Fields) -> Vec<RequestInput> {
    let mut inputs = Vec::new();
    for name in [&b"user-agent"[..], b"accept-language"] {
        if let Some(value) = base.get(name) {
            inputs.push(RequestInput::Field(name.into(), value.into()));
            base.remove(name);
        }
    }
    base.push_known(Known::UserAgent, DeviceClass::Desktop.user_agent());
    inputs
}

/// Invented values of a sampled request, by which a response shows that it repeats a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canary(String);

impl Canary {
    /// Creates canaries from 64 random bits.
    pub fn new(random: u64) -> Self {
        Self(format!("mq{random:016x}"))
    }

    /// Returns the inputs of a request with canaries: those fields of the list, and one unknown field, that the request
    /// does not have. A proxy in front may set the fields that it has.
    pub fn inputs(&self, fields: &Fields) -> Vec<RequestInput> {
        let names = unkeyed_fields().chain([UNKNOWN_FIELD]).enumerate();
        let absent = names.filter(|(_, name)| fields.get(name.as_bytes()).is_none());
        absent
            .map(|(index, name)| {
                RequestInput::Field(name.as_bytes().into(), self.value(index).into_bytes().into())
            })
            .collect()
    }

    /// Returns the name of the first field whose canary a text contains, in any case of its letters; `None` if it
    /// contains none.
    pub fn find(&self, text: &[u8]) -> Option<&'static str> {
        let text = text.to_ascii_lowercase();
        let mut found = memmem::find_iter(&text, self.0.as_bytes());
        found.find_map(|at| {
            let digits = text.get(at + self.0.len()..at + self.0.len() + 2)?;
            let index: usize = std::str::from_utf8(digits).ok()?.parse().ok()?;
            unkeyed_fields().chain([UNKNOWN_FIELD]).nth(index)
        })
    }

    /// Returns the canary of the field at `index` in the list: letters and digits, so that it is also a valid host
    /// name.
    fn value(&self, index: usize) -> String {
        format!("{}{index:02}", self.0)
    }
}

fn unkeyed_fields() -> impl Iterator<Item = &'static str> {
    UNKEYED_FIELDS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Returns the inputs that make a request that of another browser: the `User-Agent` of another class of device, and
/// another language. Fields by which the stored page varies are left out, and `User-Agent` also if it varies by device
/// class (`cache_device_class`).
pub fn other_browser(fields: &Fields, varies: &VaryRule) -> Vec<RequestInput> {
    let class = match DeviceClass::of(fields) {
        DeviceClass::Desktop => DeviceClass::Mobile,
        DeviceClass::Mobile | DeviceClass::Tablet => DeviceClass::Desktop,
    };
    let is_german = fields.known(Known::AcceptLanguage).is_some_and(|languages| languages.starts_with(b"de"));
    let language: &[u8] = if is_german { b"fr" } else { b"de" };
    [(&b"user-agent"[..], class.user_agent()), (b"accept-language", language)]
        .into_iter()
        .filter(|(name, _)| !varies.distinguishes(name))
        .map(|(name, value)| RequestInput::Field(name.into(), value.into()))
        .collect()
}

/// Returns a text of a page in which words and numbers are shortened to their first character, so that a report does
/// not contain data of a visitor.
pub(super) fn redacted(text: &str) -> String {
    let mut redacted = String::with_capacity(text.len());
    let mut is_inside = false;
    for character in text.chars() {
        let is_word = character.is_alphanumeric();
        if !is_word || !is_inside {
            redacted.push(character);
        } else if !redacted.ends_with('…') {
            redacted.push('…');
        }
        is_inside = is_word;
    }
    redacted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(list: &[(&str, &str)]) -> Fields {
        list.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect()
    }

    fn lines(fields: &Fields) -> Vec<String> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        fields.iter().map(|(name, value)| format!("{}: {}", text(name), text(value))).collect()
    }

    fn names(inputs: &[RequestInput]) -> Vec<String> {
        inputs.iter().map(|input| String::from_utf8_lossy(input.name()).into_owned()).collect()
    }

    #[test]
    fn list_has_forty_fields() {
        assert_eq!(unkeyed_fields().count(), 40);
    }

    #[test]
    fn cookies_and_credentials_are_removed() {
        let own = fields(&[
            ("Host", "localhost"),
            ("Cookie", "lang=fr; session=1"),
            ("Authorization", "Bearer x"),
            ("X-Country", "CH"),
        ]);
        let (base, inputs) = without_visitor(&own, None);
        assert_eq!(lines(&base), ["Host: localhost", "X-Country: CH"]);
        assert_eq!(names(&inputs), ["lang", "session", "Authorization"]);
        let mut again = base;
        for input in &inputs {
            input.add_to(&mut again);
        }
        assert_eq!(again.known(Known::Cookie), Some(&b"lang=fr; session=1"[..]));
        assert_eq!(again.known(Known::Authorization), Some(&b"Bearer x"[..]));
    }

    #[test]
    fn special_fields_remain_only_if_another_visitor_has_them_too() {
        let own =
            fields(&[("Host", "a"), ("X-Country", "CH"), ("X-Forwarded-Proto", "https"), ("X-Own", "1")]);
        let other = fields(&[
            ("User-Agent", "x"),
            ("X-Country", "DE"),
            ("X-Forwarded-Proto", "https"),
            ("X-Other", "2"),
        ]);
        let special = special_fields(&other);
        assert_eq!(special.len(), 3);
        let (base, inputs) = without_visitor(&own, Some(&special));
        assert_eq!(lines(&base), ["Host: a", "X-Forwarded-Proto: https"]);
        assert_eq!(names(&inputs), ["X-Country", "X-Own"]);
        let mut again = base;
        for input in &inputs {
            input.add_to(&mut again);
        }
        assert_eq!(again.get(b"x-country"), Some(&b"CH"[..]));
    }

    #[test]
    fn choices_differ_by_their_value_and_ids_do_not() {
        let cookie = |pair: &str| RequestInput::Cookie(pair.as_bytes().into()).identity();
        let field = |name: &str, value: &str| {
            RequestInput::Field(name.as_bytes().into(), value.as_bytes().into()).identity()
        };
        assert_eq!(cookie("id=123456789"), cookie("id=987654321"));
        assert_ne!(cookie("lang=de"), cookie("lang=fr"));
        assert_ne!(cookie("a"), cookie("b"));
        assert_eq!(field("X-Id", "123456789"), field("x-id", "987654321"));
        assert_ne!(field("User-Agent", "Mozilla/5.0 a"), field("user-agent", "Mozilla/5.0 b"));
        assert_ne!(field("x", "1"), cookie("x=1"));
    }

    #[test]
    fn browser_is_replaced_by_an_ordinary_one() {
        let mut base = fields(&[("Host", "a"), ("User-Agent", "iPhone Mobile"), ("Accept-Language", "de")]);
        let inputs = without_browser(&mut base);
        assert_eq!(names(&inputs), ["user-agent", "accept-language"]);
        let agent = base.known(Known::UserAgent).unwrap_or_default().to_vec();
        assert_eq!((agent, base.get(b"accept-language")), (DeviceClass::Desktop.user_agent().to_vec(), None));
        for input in &inputs {
            input.add_to(&mut base);
        }
        assert_eq!(base.get(b"user-agent"), Some(&b"iPhone Mobile"[..]));
    }

    #[test]
    fn canary_in_a_text_names_its_field() {
        let canary = Canary::new(0x1234);
        let inputs = canary.inputs(&fields(&[("X-Forwarded-Proto", "https")]));
        assert_eq!(inputs.len(), 40, "40 and the unknown one, without the one that the request has");
        let RequestInput::Field(name, value) = &inputs[0] else { panic!("no field") };
        assert_eq!(&**name, b"x-forwarded-host");
        let text = format!("<a href='https://{}/'>", String::from_utf8_lossy(value).to_uppercase());
        assert_eq!(canary.find(text.as_bytes()), Some("x-forwarded-host"));
        let last = &inputs[39];
        let RequestInput::Field(_, value) = last else { panic!("no field") };
        assert_eq!(canary.find(value), Some(UNKNOWN_FIELD));
        assert_eq!(canary.find(b"mq0000000000001234"), None, "without an index");
        assert_eq!(Canary::new(1).find(text.as_bytes()), None);
    }

    #[test]
    fn other_browser_has_another_device_and_language() {
        let phone = fields(&[("User-Agent", "x Mobile"), ("Accept-Language", "de-CH")]);
        let inputs = other_browser(&phone, &VaryRule::default());
        let value = |index: usize| match &inputs[index] {
            RequestInput::Field(_, value) => String::from_utf8_lossy(value).into_owned(),
            other => panic!("{other:?}"),
        };
        assert!(value(0).contains("X11") && value(1) == "fr");
        let varies = VaryRule::parse([&b"user-agent"[..]]).expect("a rule");
        assert_eq!(names(&other_browser(&phone, &varies)), ["accept-language"]);
        let by_class = VaryRule::parse([&b":device"[..]]).expect("a rule");
        assert_eq!(names(&other_browser(&phone, &by_class)), ["accept-language"]);
        assert!(by_class.distinguishes(b"User-Agent") && by_class.distinguishes(b"sec-ch-ua-mobile"));
        assert!(!by_class.distinguishes(b"accept-language"));
    }

    #[test]
    fn words_and_numbers_of_a_report_are_shortened() {
        assert_eq!(redacted("<p>Hello, Margarete! 42 € in 3 items"), "<p>H…, M…! 4… € i… 3 i…");
        assert_eq!(redacted("Straße 7"), "S… 7");
    }
}
