//! Comparison of the responses to requests that the leak guard sends to verify a stored page (`leak_guard sample=`).

use super::sampled_request::redacted;
use super::scanner::is_general;
use crate::page_comparison::{Difference, Noise, excerpt};

/// Response that is compared with others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendering {
    /// Status code.
    pub status: u16,
    /// Media type in `Content-Type`; empty without one.
    pub media_type: Box<[u8]>,
    /// `Location`; empty without one.
    pub location: Box<[u8]>,
    /// Other fields, except those that [`RenderingFields`] leaves out.
    pub fields: RenderingFields,
    /// Body, without content coding and without parts of a visitor.
    pub body: Vec<u8>,
    /// True if the page shows counters of visits, so that decimal numbers are not compared.
    pub shows_counters: bool,
}

/// Name in lower case, and value of a field.
type NameAndValue = (Box<[u8]>, Box<[u8]>);

/// Fields of a response that are compared: names in lower case, with their values. Fields that describe the response in
/// general, its servers or caches are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderingFields(Vec<NameAndValue>);

impl<N: AsRef<[u8]>, V: AsRef<[u8]>> FromIterator<(N, V)> for RenderingFields {
    /// Collects fields, without those that describe the response in general, its servers or caches.
    fn from_iter<I: IntoIterator<Item = (N, V)>>(fields: I) -> Self {
        const OF_SERVERS: [&[u8]; 16] = [
            b"x-myriad-",
            b"x-accel-",
            b"x-litespeed-",
            b"surrogate-",
            b"x-cache",
            b"x-drupal-",
            b"x-varnish",
            b"x-served-by",
            b"x-backend",
            b"x-request-id",
            b"x-runtime",
            b"x-response-time",
            b"x-timer",
            b"x-ratelimit-",
            b"ratelimit",
            b"cf-",
        ];
        const GENERAL: [&[u8]; 7] =
            [b"location", b"no-vary-search", b"server-timing", b"via", b"alt-svc", b"nel", b"report-to"];
        let fields = fields.into_iter().map(|(name, value)| {
            (name.as_ref().to_ascii_lowercase().into_boxed_slice(), Box::from(value.as_ref()))
        });
        let is_compared = |name: &[u8]| {
            !is_general(name)
                && !GENERAL.contains(&name)
                && !OF_SERVERS.iter().any(|prefix| name.starts_with(prefix))
        };
        Self(fields.filter(|(name, _)| is_compared(name)).collect())
    }
}

impl RenderingFields {
    /// Returns the first field of `other` that these fields do not contain with the same value; `None` if there is
    /// none.
    fn first_other<'a>(&self, other: &'a Self) -> Option<&'a NameAndValue> {
        other.0.iter().find(|field| !self.0.contains(field))
    }

    fn remove(&mut self, names: &[Box<[u8]>]) {
        self.0.retain(|(name, _)| !names.contains(name));
    }
}

/// Response that two equal requests got, and the places in which their responses differ (noise).
#[derive(Clone, Debug)]
pub struct StableRendering {
    rendering: Rendering,
    noise: Noise,
    /// Names of fields that differ between the two responses.
    noisy_fields: Vec<Box<[u8]>>,
}

impl StableRendering {
    /// Compares the responses to two equal requests. Returns `None` if more than noise differs, so that no comparison
    /// with other responses is possible.
    pub fn of(first: &Rendering, second: Rendering) -> Option<Self> {
        let has_equal_head = has_equal_head(first, &second);
        let noise = Noise::between(&first.body, &second.body).filter(|_| has_equal_head)?;
        let mut noisy_fields = Vec::new();
        for (one, other) in [(&first.fields, &second.fields), (&second.fields, &first.fields)] {
            let differing = one.0.iter().filter(|field| !other.0.contains(field));
            noisy_fields.extend(differing.map(|(name, _)| name.clone()));
        }
        Some(Self { rendering: second, noise, noisy_fields })
    }

    /// Returns the second of the two responses.
    pub fn rendering(&self) -> &Rendering {
        &self.rendering
    }

    /// Returns true if another response differs from this one by more than noise, or has further fields.
    pub fn differs_from(&self, other: &Rendering) -> bool {
        !has_equal_head(&self.rendering, other)
            || self.other_field(other).is_some()
            || self.difference(other).is_some()
    }

    /// Describes the first difference from another response, with shortened words; `None` if nothing but noise differs.
    pub fn describe_difference(&self, other: &Rendering) -> Option<String> {
        let own = &self.rendering;
        if own.status != other.status {
            return Some(format!("status {} instead of {}", other.status, own.status));
        }
        if own.location != other.location {
            let [other, own] =
                [&other.location, &own.location].map(|text| redacted(&String::from_utf8_lossy(text)));
            return Some(format!("Location \"{other}\" instead of \"{own}\""));
        }
        if own.media_type != other.media_type {
            let [other, own] = [&other.media_type, &own.media_type].map(|text| String::from_utf8_lossy(text));
            return Some(format!("Content-Type \"{other}\" instead of \"{own}\""));
        }
        if let Some((name, value)) = self.other_field(other) {
            let [name, value] = [&name, &value].map(|text| String::from_utf8_lossy(text).into_owned());
            return Some(format!("field {name} \"{}\"", redacted(&value)));
        }
        let difference = self.difference(other)?;
        let (near, own) = excerpt(&own.body, difference.stored);
        let (_, other) = excerpt(&other.body, difference.rendered);
        let [near, own, other] = [near, own, other].map(|text| redacted(&text));
        Some(format!("\"{near}{other}\" instead of \"{near}{own}\""))
    }

    /// Returns the first field of another response, except noisy fields, that this response does not contain with the
    /// same value; `None` if there is none.
    fn other_field(&self, other: &Rendering) -> Option<NameAndValue> {
        let mut fields = other.fields.clone();
        fields.remove(&self.noisy_fields);
        self.rendering.fields.first_other(&fields).cloned()
    }

    fn difference(&self, other: &Rendering) -> Option<Difference> {
        let ignores_numbers = self.rendering.shows_counters || other.shows_counters;
        self.noise.compare(&self.rendering.body, &other.body, ignores_numbers).err()
    }
}

fn has_equal_head(a: &Rendering, b: &Rendering) -> bool {
    (a.status, &a.media_type, &a.location) == (b.status, &b.media_type, &b.location)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Rendering {
        Rendering { status: 200, body: text.as_bytes().to_vec(), ..Rendering::default() }
    }

    fn greeting(name: &str, nonce: &str) -> Rendering {
        page(&format!(
            "<p>Rendered with nonce={nonce}.</p><p>Hello, {name}, welcome to our shop of tea and coffee."
        ))
    }

    #[test]
    fn noise_is_not_compared_and_a_name_is_reported_shortened() {
        let stable =
            StableRendering::of(&greeting("guest", "Xa1"), greeting("guest", "Yb2")).expect("stable");
        assert!(!stable.differs_from(&greeting("guest", "Zc3")));
        let found = stable.describe_difference(&greeting("Margarete", "Zc3")).expect("a difference");
        assert!(
            found.contains("H…, M…") && found.contains("H…, g…") && !found.contains("Margarete"),
            "{found}"
        );
    }

    #[test]
    fn status_and_target_are_compared() {
        let stable = StableRendering::of(&page(""), page("")).expect("stable");
        let login = Rendering { status: 302, location: (*b"/login?u=Margarete").into(), ..page("") };
        assert_eq!(stable.describe_difference(&login).as_deref(), Some("status 302 instead of 200"));
        let other = Rendering { location: (*b"/login?u=Ann").into(), ..login.clone() };
        let stable = StableRendering::of(&login, login.clone()).expect("stable");
        let found = stable.describe_difference(&other).expect("a difference");
        assert_eq!(found, "Location \"/l…?u=A…\" instead of \"/l…?u=M…\"");
    }

    #[test]
    fn fields_are_compared_without_noise_and_those_of_caches() {
        let with = |name: &str, number: &str| Rendering {
            fields: [("X-Name", name), ("X-Request", number), ("Date", number), ("X-Myriad-Tags", number)]
                .into_iter()
                .collect(),
            ..page("a")
        };
        let stable = StableRendering::of(&with("guest", "1"), with("guest", "2")).expect("stable");
        assert!(!stable.differs_from(&with("guest", "3")));
        assert!(!stable.differs_from(&page("a")), "a stored page lacks hidden fields");
        let found = stable.describe_difference(&with("Margarete", "3"));
        assert_eq!(found.as_deref(), Some("field x-name \"M…\""));
    }

    #[test]
    fn response_that_always_differs_is_not_stable() {
        let words = |seed: usize| {
            (0..200).map(|number| format!("w{}", number * seed % 211)).collect::<Vec<_>>().join(" ")
        };
        assert!(StableRendering::of(&page(&words(3)), page(&words(5))).is_none());
        assert!(StableRendering::of(&page("a"), Rendering { status: 404, ..page("a") }).is_none());
    }
}
