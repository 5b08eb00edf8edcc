//! What the directives say.

use myriad_conf::Text;

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

myriad_conf::feature_settings!(CharsetSettings);

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
