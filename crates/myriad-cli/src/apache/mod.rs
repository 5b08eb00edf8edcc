//! Translates rules of Apache (`.htaccess`, virtual hosts) to the nginx language: converts a text to a site and
//! [`Remark`]s.
//!
//! ```text
//! text -> lines: directives and sections, with their line numbers
//!      -> walk:  IfModule, Files, Limit, Directory -> guards
//!      -> access, env, headers, redirects, rewrite, settings -> parts of the site
//!      -> site: the parts of http { }, then server { }
//! ```
//!
//! Everything is translated to directives of `server`, in the order of evaluation in Apache: access control, redirects,
//! rewrites. Sections (`<Files>`) become `if ($apache_file ~ …) { set … }`, so that no location must repeat the
//! directives of another.
//!
//! Lines that cannot be translated are remarks with the reason. If such a line is an access directive, all clients are
//! denied. An untranslated `RewriteRule` with `[F]`, and an untranslated section, are reported and omitted: check each
//! before the site is served.

mod access;
mod denials;
mod denied_paths;
mod env;
mod expand;
mod expires;
mod headers;
mod lines;
mod pattern;
mod redirects;
mod rewrite;
mod rewrite_text;
mod rules;
mod settings;
mod site;
mod state;
mod version;
mod walk;

pub use denials::{AccessDenials, PartialAccess, denials};
pub use denied_paths::{Cycle, DeniedPaths, denied_paths};
pub use lines::LARGEST;
pub use pattern::{escaped, quoted};
pub use site::{Remark, Translation, TranslationOptions};

/// Translates the text of a `.htaccess`, or of a file with virtual hosts. Never fails: untranslated lines are in the
/// remarks.
pub fn translate(text: &str, options: &TranslationOptions) -> Translation {
    let (items, remarks) = lines::read(text);
    site::write(walk::walk(&items, options, remarks), options)
}

#[cfg(test)]
mod tests;
