//! Built-in files, used when a configuration includes a file that does not exist on the machine.

mod types;

use std::{fmt::Write as _, path::Path};

/// Built-in file that replaces an included file of the same name if that does not exist.
#[derive(Clone, Copy, Debug)]
pub struct BuiltinFile {
    /// File name, without a folder.
    pub name: &'static str,
    /// Function that returns the content of the file.
    pub text: fn() -> String,
}

/// Returns the built-in content for a missing file by its file name: `mime.types`, or one of `files`. `None` for
/// others.
pub(crate) fn file(path: &Path, files: &[BuiltinFile]) -> Option<String> {
    match path.file_name()?.to_str()? {
        "mime.types" => Some(mime_types()),
        name => files.iter().find(|file| file.name == name).map(|file| (file.text)()),
    }
}

/// Returns a `types` block with the built-in media types.
fn mime_types() -> String {
    let mut text = String::from("types {\n");
    for (media_type, extensions) in types::TYPES {
        let _ = writeln!(text, "    {media_type} {extensions};");
    }
    text.push_str("}\n");
    text
}
