//! What the directives say.

use myriad_conf::model::HttpConf;
use myriad_conf::{Span, Text};

/// `charset*` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CharsetSettings {
    /// `charset`: what is added to media types; `None` for off. May hold variables.
    pub name: Option<Text>,
    /// `source_charset`: what answers are in that name none; `None` where not written. May hold variables.
    pub source: Option<Text>,
    /// `charset_types`, lower case: the media types it is added to; `*` alone means every type.
    pub types: Vec<String>,
    /// `override_charset`: whether a charset that the origin names is replaced.
    pub override_named: bool,
}

/// A `charset_map FROM TO { … }`: how characters beyond ASCII of one charset are written in another, and back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CharsetMapConf {
    /// The charset of one byte a character.
    pub from: String,
    /// The other one; UTF-8, or of one byte a character too.
    pub to: String,
    /// A byte of the first and the one to three bytes of the second, in source order.
    pub pairs: Vec<(u8, Vec<u8>)>,
    /// The directive.
    pub span: Span,
}

impl CharsetMapConf {
    /// Whether the second charset is UTF-8.
    pub(super) fn is_to_utf8(&self) -> bool {
        self.to.eq_ignore_ascii_case("utf-8")
    }
}

/// `charset_map`, in source order: settings of `http`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CharsetMaps(pub Vec<CharsetMapConf>);

impl CharsetMaps {
    /// Those of a configuration.
    pub(super) fn of(http: &HttpConf) -> &[CharsetMapConf] {
        &http.settings.feature::<Self>().0
    }
}

myriad_conf::feature_settings!(CharsetSettings);
myriad_conf::feature_settings!(CharsetMaps);

#[cfg(test)]
mod tests {
    use std::path::Path;

    use myriad_conf::{MemoryLoader, build};

    use super::super::directives::ROWS;
    use super::CharsetSettings;
    use myriad_conf::registry::{Family, Registry};

    fn settings(text: &str) -> CharsetSettings {
        let file = format!("http {{ server {{ location / {{ {text} }} }} }}");
        let path = Path::new("/conf/nginx.conf");
        let registry = Registry::new([Family::new("charset", ROWS)], []);
        let parsed = registry.parse(&MemoryLoader::with(path, file), path, b"");
        let model = build(&parsed, &registry).expect("a sound model");
        model.http.expect("a block").servers[0].locations[0].settings.feature::<CharsetSettings>().clone()
    }

    #[test]
    fn charset_is_off_or_named_for_some_types() {
        let none = settings("");
        assert!(none.name.is_none() && none.types.len() == 6);
        let some = settings("charset utf-8; charset_types text/css; override_charset on;");
        assert_eq!(some.name.expect("a name").bytes(), b"utf-8");
        assert_eq!(some.types, ["text/html", "text/css"]);
        assert!(some.override_named && settings("charset off;").name.is_none());
    }
}
