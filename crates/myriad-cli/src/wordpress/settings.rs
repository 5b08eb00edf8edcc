//! Settings of sites: `--set NAME=VALUE` for all sites, and words in the line of a site for that site only.

use myriad_policy::PersonalCookies;

/// Setting that `--set` accepts.
struct KnownSetting {
    name: &'static str,
    /// Default value; empty if there is none, or if it depends on the site.
    default: &'static str,
    takes: AcceptedValues,
}

/// Values that a setting accepts.
enum AcceptedValues {
    /// One of the listed words, and no other value.
    Word(&'static [&'static str]),
    /// Size as in the configuration language: a number of bytes, or a number with `k`, `m` or `g`; never 0.
    Size,
    /// Time as in the configuration language: a number of seconds, or a number with `s`, `m`, `h` or `d`; never 0.
    Time,
    /// Time, or `off`.
    TimeOrOff,
    /// Number from 1 to this maximum.
    Number(u32),
    /// Path of letters, digits, `/`, `-`, `_` and `.`, as in `pm.status_path` of php-fpm.
    Path,
    /// Port number from 1 to 65535, or `off`.
    Port,
    /// Names of cookies or fields, each with at most 32 values: `currency:EUR+USD,country:DE+CH`. Cookies that identify
    /// a visitor are rejected.
    Choices,
}

const ON_OFF: &[&str] = &["on", "off"];

const KNOWN: [KnownSetting; 21] = [
    known("search", "off", AcceptedValues::Word(ON_OFF)),
    known("rest", "off", AcceptedValues::Word(ON_OFF)),
    known("multisite", "", AcceptedValues::Word(&["off", "subdirectories", "subdomains"])),
    known("plugin_pages", "", AcceptedValues::Word(ON_OFF)),
    known("link_previews", "shared", AcceptedValues::Word(&["shared", "fresh"])),
    known("xmlrpc", "on", AcceptedValues::Word(ON_OFF)),
    known("purge", "on", AcceptedValues::Word(ON_OFF)),
    known("frames", "same", AcceptedValues::Word(&["same", "any"])),
    known("validity", "1m", AcceptedValues::Time),
    known("adaptive", "1m", AcceptedValues::TimeOrOff),
    known("optimize", "off", AcceptedValues::Word(&["off", "safe"])),
    known("uploads", "64m", AcceptedValues::Size),
    known("disk", "1g", AcceptedValues::Size),
    known("memory", "", AcceptedValues::Size),
    known("children", "", AcceptedValues::Number(100_000)),
    known("queue", "256", AcceptedValues::Number(100_000)),
    known("status", "", AcceptedValues::Path),
    known("log", "off", AcceptedValues::Word(&["off", "combined", "json"])),
    known("dashboard", "", AcceptedValues::Port),
    known("vary_cookies", "", AcceptedValues::Choices),
    known("vary_country", "", AcceptedValues::Choices),
];

/// Maximum number of values of one cookie or field in `vary_cookies` and `vary_country`: each value is another copy of
/// every page.
const MAX_CHOICES: usize = 32;
/// Prefixes of the names of cookies that identify visitors. The plugin does not treat a page that is generated with
/// such a cookie as shared (`has_own_cookie()`).
const OF_VISITORS: [&str; 6] =
    ["wordpress_", "wp-", "wp_woocommerce_", "woocommerce_", "comment_author", "PHPSESSID"];

/// Returns whether a cookie identifies a visitor, so that its value must not be part of the cache key.
fn identifies_visitor(name: &str) -> bool {
    let lists = [PersonalCookies::builtin_without_choices(), PersonalCookies::builtin_sessions()];
    OF_VISITORS.iter().any(|prefix| name.starts_with(prefix))
        || lists.iter().any(|list| list.matches_set_cookie(name.as_bytes()).is_some())
}

/// Returns the default maximum length of a request body, as a size of the configuration language.
pub fn largest_upload() -> &'static str {
    default_of("uploads")
}

fn default_of(name: &str) -> &'static str {
    KNOWN.iter().find(|known| known.name == name).map_or("", |known| known.default)
}

const fn known(name: &'static str, default: &'static str, takes: AcceptedValues) -> KnownSetting {
    KnownSetting { name, default, takes }
}

/// Names and values of the settings that were given, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SiteSettings(Vec<(&'static str, String)>);

impl SiteSettings {
    /// Adds a setting in the form `NAME=VALUE`.
    ///
    /// # Errors
    /// Returns an error text with the available settings, or the accepted values.
    pub(super) fn add(&mut self, text: &str) -> Result<(), String> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let Some(known) = KNOWN.iter().find(|known| known.name == name) else {
            let names: Vec<_> = KNOWN.iter().map(|known| known.name).collect();
            return Err(format!("unknown setting \"{name}\"; available settings: {}", names.join(", ")));
        };
        if !known.takes.allows(value) {
            return Err(format!("{name} must be {}, not \"{value}\"", known.takes.words()));
        }
        self.0.push((known.name, value.to_owned()));
        Ok(())
    }

    /// Returns the settings `of_all` (for all sites) followed by the settings of this site, which take precedence.
    pub(super) fn merged_over(&self, of_all: &SiteSettings) -> SiteSettings {
        SiteSettings(of_all.0.iter().chain(&self.0).cloned().collect())
    }

    /// Returns the value of a setting: the last one that was given, otherwise its default.
    pub(super) fn get(&self, name: &str) -> &str {
        let given = self.0.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value.as_str());
        given.unwrap_or_else(|| default_of(name))
    }

    /// Returns the name of a given setting that is only valid for WordPress; `None` if there is none.
    pub(super) fn of_wordpress(&self) -> Option<&str> {
        const OF_WORDPRESS: [&str; 10] = [
            "search",
            "rest",
            "multisite",
            "plugin_pages",
            "link_previews",
            "xmlrpc",
            "frames",
            "adaptive",
            "vary_cookies",
            "vary_country",
        ];
        self.0.iter().map(|(name, _)| *name).find(|name| OF_WORDPRESS.contains(name))
    }

    /// Returns the directives that make the choices of `vary_cookies` and `vary_country` part of the cache key, and
    /// with `vary_country` the FastCGI parameter with the names of its fields; empty without these settings.
    pub(super) fn choices(&self) -> String {
        let mut directives = Vec::new();
        for (setting, directive) in
            [("vary_cookies", "cache_key_cookie"), ("vary_country", "cache_key_field")]
        {
            for choice in self.get(setting).split(',').filter(|choice| !choice.is_empty()) {
                directives.push(format!("{directive} {};", choice.replace([':', '+'], " ")));
            }
        }
        let fields = self.get("vary_country").split(',').filter_map(|choice| choice.split_once(':'));
        let fields: Vec<_> = fields.map(|(name, _)| name.to_ascii_uppercase().replace('-', "_")).collect();
        if !fields.is_empty() {
            directives.push(format!("fastcgi_param MYRIAD_KEYED_FIELDS \"{}\";", fields.join(" ")));
        }
        directives.join("\n        ")
    }

    /// Returns whether the setting was given.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| *known == name)
    }
}

impl AcceptedValues {
    fn allows(&self, value: &str) -> bool {
        let units = |letters: &[char]| {
            let digits = value.strip_suffix(letters).unwrap_or(value);
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.len() <= 9;
            is_number && digits.parse::<u32>().is_ok_and(|number| number > 0)
        };
        match self {
            AcceptedValues::Word(words) => words.contains(&value),
            AcceptedValues::Size => units(&['k', 'm', 'g', 'K', 'M', 'G']),
            AcceptedValues::Time => units(&['s', 'm', 'h', 'd']),
            AcceptedValues::TimeOrOff => value == "off" || units(&['s', 'm', 'h', 'd']),
            AcceptedValues::Number(most) => {
                units(&[]) && value.parse::<u32>().is_ok_and(|number| number <= *most)
            }
            AcceptedValues::Path => {
                let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
                value.len() > 1 && value.starts_with('/') && value.bytes().all(is_plain)
            }
            AcceptedValues::Choices => {
                let is_word = |word: &str, others: &[u8]| {
                    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || others.contains(&byte);
                    !word.is_empty() && word.bytes().all(is_plain)
                };
                value.split(',').all(|choice| {
                    choice.split_once(':').is_some_and(|(name, values)| {
                        let mut words = values.split('+');
                        is_word(name, b"-_")
                            && !identifies_visitor(name)
                            && words.all(|word| is_word(word, b"-_."))
                            && values.split('+').count() <= MAX_CHOICES
                    })
                })
            }
            AcceptedValues::Port => value == "off" || (units(&[]) && value.parse::<u16>().is_ok()),
        }
    }

    /// Returns a description of the accepted values, for error messages.
    fn words(&self) -> String {
        match self {
            AcceptedValues::Word(words) => words.join(" or "),
            AcceptedValues::Size => "a size such as 64m, 512k or 2g".to_owned(),
            AcceptedValues::Time => "a time such as 30s, 1m or 1d".to_owned(),
            AcceptedValues::TimeOrOff => "a time such as 30s or 1m, or off".to_owned(),
            AcceptedValues::Number(most) => format!("a number from 1 to {most}"),
            AcceptedValues::Path => "a path such as /fpm-status, pm.status_path of the pool".to_owned(),
            AcceptedValues::Port => "a port of this machine or off".to_owned(),
            AcceptedValues::Choices => {
                format!(
                    "names, each with at most {MAX_CHOICES} values, such as currency:EUR+USD, but no cookies of logins, carts and sessions ({}, ...)",
                    OF_VISITORS.join(", ")
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(texts: &[&str]) -> Result<SiteSettings, String> {
        let mut settings = SiteSettings::default();
        texts.iter().try_for_each(|text| settings.add(text)).map(|()| settings)
    }

    #[test]
    fn the_last_value_counts_and_those_of_a_site_come_before_those_of_all() {
        let of_all = given(&["disk=2g", "queue=10", "disk=3g"]).expect("sound");
        assert_eq!((of_all.get("disk"), of_all.get("queue"), of_all.get("uploads")), ("3g", "10", "64m"));
        let own = given(&["queue=20"]).expect("sound").merged_over(&of_all);
        assert_eq!((own.get("disk"), own.get("queue")), ("3g", "20"));
        assert!(own.has("disk") && !own.has("rest"));
    }

    #[test]
    fn choices_become_parts_of_the_key() {
        assert_eq!(given(&[]).expect("sound").choices(), "");
        let chosen =
            given(&["vary_cookies=wmc_current_currency:EUR+USD,b:1", "vary_country=CF-IPCountry:DE+CH"]);
        assert_eq!(
            chosen.expect("sound").choices().split(';').map(str::trim).collect::<Vec<_>>(),
            [
                "cache_key_cookie wmc_current_currency EUR USD",
                "cache_key_cookie b 1",
                "cache_key_field CF-IPCountry DE CH",
                "fastcgi_param MYRIAD_KEYED_FIELDS \"CF_IPCOUNTRY\"",
                ""
            ]
        );
    }

    #[test]
    fn invalid_settings_are_rejected_with_reason() {
        for (text, part) in [
            ("rest=yes", "rest must be on or off, not \"yes\""),
            ("rest", "rest must be on or off"),
            ("disk=1g; root /", "disk must be a size"),
            ("disk=0", "disk must be a size"),
            ("disk=m", "disk must be a size"),
            ("validity=1x", "validity must be a time"),
            ("adaptive=x", "adaptive must be a time such as 30s or 1m, or off"),
            ("queue=0", "queue must be a number from 1"),
            ("dashboard=on", "dashboard must be a port of this machine or off"),
            ("dashboard=0.0.0.0:80", "dashboard must be a port"),
            ("dashboard=70000", "dashboard must be a port"),
            ("vary_cookies=currency", "vary_cookies must be names, each with at most 32 values"),
            ("vary_cookies=currency:EUR;", "vary_cookies must be names"),
            ("vary_cookies=edd_items_in_cart:1", "no cookies of logins, carts and sessions"),
            ("vary_cookies=simple_wp_membership_level:1", "no cookies of logins, carts and sessions"),
            ("vary_cookies=woocommerce_multicurrency_forced_currency:EUR+USD", "woocommerce_"),
            ("vary_country=CF-IPCountry:", "vary_country must be names"),
            ("queue=1000000", "queue must be a number from 1"),
            ("colour=red", "unknown setting \"colour\"; available settings: search, rest"),
            ("", "unknown setting"),
        ] {
            let error = given(&[text]).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
