//! Tables that stand in for files that a configuration includes and a machine lacks.

mod types;

use std::{fmt::Write as _, path::Path};

/// A file that stands in where a configuration includes it and the machine lacks it.
#[derive(Clone, Copy, Debug)]
pub struct BuiltinFile {
    /// Its name, without a folder.
    pub name: &'static str,
    /// Its text.
    pub text: fn() -> String,
}

/// The text for an absent file, by its name: `mime.types`, or one of these.
pub(crate) fn file(path: &Path, files: &[BuiltinFile]) -> Option<String> {
    match path.file_name()?.to_str()? {
        "mime.types" => Some(mime_types()),
        name => files.iter().find(|file| file.name == name).map(|file| (file.text)()),
    }
}

/// A `types` block from the built-in table.
fn mime_types() -> String {
    let mut text = String::from("types {\n");
    for (media_type, extensions) in types::TYPES {
        let _ = writeln!(text, "    {media_type} {extensions};");
    }
    text.push_str("}\n");
    text
}
