//! Kinds of sites that are served without a configuration file.

use std::borrow::Cow;

use super::settings::SiteSettings;

/// Kind of the application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SiteKind {
    /// WordPress (`myriad wordpress`).
    #[default]
    WordPress,
    /// Any application in PHP (`myriad php`).
    Php,
}

/// Presets in the nginx language, with `{{tokens}}` that are replaced by values of the command line.
const WORDPRESS: &str = include_str!("../../../../presets/wordpress.conf");
const PHP: &str = include_str!("../../../../presets/php.conf");

impl SiteKind {
    /// Returns the word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::WordPress => "wordpress",
            Self::Php => "php",
        }
    }

    /// Returns the kind for a word of the command line.
    pub fn from_name(word: &str) -> Option<Self> {
        [Self::WordPress, Self::Php].into_iter().find(|kind| kind.word() == word)
    }

    /// Returns the preset with its tokens in double braces.
    pub fn preset(self) -> &'static str {
        match self {
            Self::WordPress => WORDPRESS,
            Self::Php => PHP,
        }
    }

    /// Returns the name of the zone of a single site.
    pub(super) fn zone(self) -> &'static str {
        match self {
            Self::WordPress => "wordpress",
            Self::Php => "pages",
        }
    }

    /// Checks that the settings are valid for sites of this kind.
    pub(super) fn allows(self, settings: &SiteSettings) -> Result<(), String> {
        match settings.of_wordpress().filter(|_| self == Self::Php) {
            Some(name) => Err(format!("wordpress: the setting {name} is only available for WordPress")),
            None => Ok(()),
        }
    }

    /// Adapts a message that starts with `wordpress: ` to this command.
    pub fn adapt_message<'a>(self, text: impl Into<Cow<'a, str>>) -> String {
        let text = text.into();
        match text.strip_prefix("wordpress: ") {
            Some(rest) => format!("{}: {rest}", self.word()),
            None => text.into_owned(),
        }
    }
}
