//! Kinds of sites for which there is a preset.

use std::borrow::Cow;

use super::settings::SiteSettings;

/// Kind of a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SiteKind {
    /// WordPress (`myriad wordpress`).
    #[default]
    WordPress,
    /// Any PHP application (`myriad php`).
    Php,
}

/// Preset for WordPress in the nginx language. Its `{{tokens}}` are replaced by values.
const WORDPRESS: &str = include_str!("../../../../presets/wordpress.conf");
/// Preset for other PHP applications, likewise with tokens.
const PHP: &str = include_str!("../../../../presets/php.conf");

impl SiteKind {
    /// Returns the word by which the command line selects the kind.
    pub fn word(self) -> &'static str {
        match self {
            Self::WordPress => "wordpress",
            Self::Php => "php",
        }
    }

    /// Returns the kind for a word of the command line; `None` for other words.
    pub fn from_name(word: &str) -> Option<Self> {
        [Self::WordPress, Self::Php].into_iter().find(|kind| kind.word() == word)
    }

    /// Returns the text of the preset, with its tokens.
    pub fn preset(self) -> &'static str {
        match self {
            Self::WordPress => WORDPRESS,
            Self::Php => PHP,
        }
    }

    /// Returns the name of the cache zone of a single site.
    pub(super) fn zone(self) -> &'static str {
        match self {
            Self::WordPress => "wordpress",
            Self::Php => "pages",
        }
    }

    /// Returns an error text if a setting is not available for sites of this kind.
    pub(super) fn allows(self, settings: &SiteSettings) -> Result<(), String> {
        match settings.of_wordpress().filter(|_| self == Self::Php) {
            Some(name) => Err(format!("wordpress: the setting {name} is only available for WordPress")),
            None => Ok(()),
        }
    }

    /// Replaces the `wordpress: ` at the start of a message by the word of this kind.
    pub fn adapt_message<'a>(self, text: impl Into<Cow<'a, str>>) -> String {
        let text = text.into();
        match text.strip_prefix("wordpress: ") {
            Some(rest) => format!("{}: {rest}", self.word()),
            None => text.into_owned(),
        }
    }
}
