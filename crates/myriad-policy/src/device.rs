//! Device class of a visitor, for pages that differ between phones and desktop computers.
//!
//! A literal implementation of `Vary: User-Agent` creates a variant for every browser version. Applications that send
//! it search for a few words, so classes based on the same words suffice to distinguish their pages.

use myriad_http::{Fields, Known};

/// Device class of a visitor, derived from the words for which WordPress (`wp_is_mobile`) and common cache plugins
/// search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceClass {
    /// All other devices, including crawlers that imitate no phone.
    Desktop,
    /// A phone, or a crawler that imitates a phone.
    Mobile,
    /// A tablet or an e-book reader.
    Tablet,
}

impl DeviceClass {
    /// Returns the class of `User-Agent`; [`DeviceClass::Desktop`] if the field is missing.
    pub fn of(request: &Fields) -> Self {
        // An application may read any of several fields, or all of them joined.
        let contains = |word: &[u8]| {
            let mut agents = request.known_all(Known::UserAgent);
            agents.any(|agent| agent.windows(word.len()).any(|part| part == word))
        };
        let mobile = contains(b"Mobile");
        if contains(b"iPad") || contains(b"Kindle") || !mobile && (contains(b"Android") || contains(b"Silk/"))
        {
            Self::Tablet
        } else if mobile || contains(b"BlackBerry") || contains(b"Opera Mini") || contains(b"Opera Mobi") {
            Self::Mobile
        } else {
            Self::Desktop
        }
    }

    /// Name of the request field in which browsers send `?1` on a phone, otherwise `?0` (User-Agent Client Hints).
    pub(crate) const HINT: &'static [u8] = b"sec-ch-ua-mobile";

    /// Returns the `User-Agent` that is sent to origins instead of the client's for pages shared by this device class,
    /// so that an unusual agent, such as that of a scanner, does not influence pages served to others.
    pub const fn user_agent(self) -> &'static [u8] {
        match self {
            Self::Desktop => {
                b"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"
            }
            Self::Mobile => {
                b"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36"
            }
            Self::Tablet => {
                b"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"
            }
        }
    }

    /// Returns the value of `Sec-CH-UA-Mobile` if it contradicts the device class by `User-Agent`: `?1` for a desktop,
    /// or `?0` for a phone or tablet. Any value other than `?1` counts as `?0`. Returns `None` if both agree or the
    /// request lacks the field, so that clients with and without the field share the page. WordPress prefers this field
    /// to `User-Agent`.
    pub(crate) fn contrary_hint(request: &Fields) -> Option<&'static [u8]> {
        let hint = request.get(Self::HINT)?;
        match (Self::of(request), hint == b"?1") {
            (Self::Desktop, true) => Some(b"?1"),
            (Self::Mobile | Self::Tablet, false) => Some(b"?0"),
            _ => None,
        }
    }

    /// Returns `desktop`, `mobile` or `tablet`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Desktop => "desktop",
            Self::Mobile => "mobile",
            Self::Tablet => "tablet",
        }
    }
}

/// Appends the part of a variant key for a page that varies by `User-Agent`: the class, and 1 if `Sec-CH-UA-Mobile`
/// contradicts it, else 0. The origin receives no other data about the browser ([`DeviceClass::user_agent`]).
pub(crate) fn write_class(request: &Fields, out: &mut Vec<u8>) {
    out.extend_from_slice(DeviceClass::of(request).as_str().as_bytes());
    out.push(u8::from(DeviceClass::contrary_hint(request).is_some()));
}

/// Splits the part of a variant key that [`write_class`] has written from the start of `key`: the class, true if
/// `Sec-CH-UA-Mobile` contradicts it, and the rest. Returns `None` for other bytes.
pub(crate) fn split_class(key: &[u8]) -> Option<(DeviceClass, bool, &[u8])> {
    let classes = [DeviceClass::Desktop, DeviceClass::Mobile, DeviceClass::Tablet];
    let (class, rest) =
        classes.into_iter().find_map(|class| Some((class, key.strip_prefix(class.as_str().as_bytes())?)))?;
    let (hint, rest) = rest.split_first()?;
    Some((class, *hint != 0, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(agent: &str) -> DeviceClass {
        let mut fields = Fields::new();
        fields.push(b"User-Agent", agent.as_bytes());
        DeviceClass::of(&fields)
    }

    #[test]
    fn user_agents_are_classified_by_device() {
        let desktop = [
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15",
            "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            "curl/8.0",
            "",
        ];
        let mobile = [
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1",
            "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36",
            "Opera/9.80 (J2ME/MIDP; Opera Mini/7.1; U; en) Presto/2.12",
        ];
        let tablet = [
            "Mozilla/5.0 (iPad; CPU OS 12_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.1 Mobile/15E148 Safari/604.1",
            "Mozilla/5.0 (Linux; Android 13; SM-X700) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
            "Mozilla/5.0 (Linux; Android 9; KFMAWI) AppleWebKit/537.36 (KHTML, like Gecko) Silk/120.4 like Chrome/120 Safari/537.36",
        ];
        assert!(desktop.iter().all(|agent| class(agent) == DeviceClass::Desktop));
        assert!(mobile.iter().all(|agent| class(agent) == DeviceClass::Mobile));
        assert!(tablet.iter().all(|agent| class(agent) == DeviceClass::Tablet));
    }

    /// Result of WordPress's own rule (`wp_is_mobile`), to test that a class never combines visitors that WordPress
    /// distinguishes.
    fn is_mobile_for_wordpress(agent: &str, hint: Option<&str>) -> bool {
        let words = ["Mobile", "Android", "Silk/", "Kindle", "BlackBerry", "Opera Mini", "Opera Mobi"];
        hint.map_or_else(|| words.iter().any(|word| agent.contains(word)), |hint| hint == "?1")
    }

    #[test]
    fn no_device_class_mixes_agents_wordpress_distinguishes() {
        let words = [
            "Mobile",
            "Android",
            "Silk/",
            "Kindle",
            "BlackBerry",
            "Opera Mini",
            "Opera Mobi",
            "iPad; Mobile",
            "x",
        ];
        let mut seen = std::collections::HashMap::new();
        for (first, second) in words.iter().flat_map(|first| words.iter().map(move |second| (first, second)))
        {
            for hint in [None, Some("?0"), Some("?1")] {
                let agent = format!("Mozilla/5.0 ({first}) {second}");
                let mut fields = Fields::new();
                fields.push(b"User-Agent", agent.as_bytes());
                if let Some(hint) = hint {
                    fields.push(b"Sec-CH-UA-Mobile", hint.as_bytes());
                }
                let mut key = Vec::new();
                write_class(&fields, &mut key);
                let is_mobile = is_mobile_for_wordpress(&agent, hint);
                assert_eq!(*seen.entry(key).or_insert(is_mobile), is_mobile, "{agent} {hint:?}");
            }
        }
        assert!(seen.len() > 4);
    }

    #[test]
    fn representative_agent_of_class_is_in_it_and_wordpress_agrees() {
        for agent in ["", "sqlmap/1.8", "Mobile<script>", "Firefox", "Android", "iPad; Mobile", "Mobile"] {
            for hint in [None, Some("?0"), Some("?1"), Some("x")] {
                let mut fields = Fields::new();
                fields.push(b"User-Agent", agent.as_bytes());
                if let Some(hint) = hint {
                    fields.push(DeviceClass::HINT, hint.as_bytes());
                }
                let mut sent_fields = Fields::new();
                sent_fields.push(b"User-Agent", DeviceClass::of(&fields).user_agent());
                let contrary = DeviceClass::contrary_hint(&fields);
                if let Some(hint) = contrary {
                    sent_fields.push(DeviceClass::HINT, hint);
                }
                let key = |fields: &Fields| {
                    let mut key = Vec::new();
                    write_class(fields, &mut key);
                    key
                };
                assert_eq!(key(&sent_fields), key(&fields), "{agent} {hint:?}");
                let stands = std::str::from_utf8(DeviceClass::of(&fields).user_agent()).expect("text");
                let contrary = contrary.map(|hint| std::str::from_utf8(hint).expect("text"));
                assert_eq!(
                    is_mobile_for_wordpress(stands, contrary),
                    is_mobile_for_wordpress(agent, hint),
                    "{agent} {hint:?}"
                );
            }
        }
    }
}
