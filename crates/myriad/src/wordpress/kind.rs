//! Kinds of sites that are served without a configuration file.

use std::borrow::Cow;

use super::settings::Settings;

/// What is known of the application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It is WordPress (`myriad wordpress`).
    #[default]
    WordPress,
    /// It is written in PHP, and nothing else is known of it (`myriad php`).
    Php,
}

/// Presets, in the nginx language, with `{{tokens}}` that the command line fills in.
const WORDPRESS: &str = include_str!("../../../../presets/wordpress.conf");
const PHP: &str = include_str!("../../../../presets/php.conf");

impl Kind {
    /// Word of the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::WordPress => "wordpress",
            Self::Php => "php",
        }
    }

    /// Kind that a word of the command line names.
    pub(crate) fn named(word: &str) -> Option<Self> {
        [Self::WordPress, Self::Php].into_iter().find(|kind| kind.word() == word)
    }

    /// The preset, its words in double braces not filled in.
    pub(crate) fn preset(self) -> &'static str {
        match self {
            Self::WordPress => WORDPRESS,
            Self::Php => PHP,
        }
    }

    /// Zone of a single site.
    pub(super) fn zone(self) -> &'static str {
        match self {
            Self::WordPress => "wordpress",
            Self::Php => "pages",
        }
    }

    /// Checks that the settings are about sites of this kind.
    pub(super) fn allows(self, settings: &Settings) -> Result<(), String> {
        match settings.of_wordpress().filter(|_| self == Self::Php) {
            Some(name) => Err(format!("wordpress: {name} is a setting of WordPress")),
            None => Ok(()),
        }
    }

    /// A message that begins with `wordpress: `, for this command.
    pub(crate) fn worded<'a>(self, text: impl Into<Cow<'a, str>>) -> String {
        let text = text.into();
        match text.strip_prefix("wordpress: ") {
            Some(rest) => format!("{}: {rest}", self.word()),
            None => text.into_owned(),
        }
    }
}
