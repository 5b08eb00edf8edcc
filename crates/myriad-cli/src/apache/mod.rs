//! Translation of Apache's rules (`.htaccess` files, virtual hosts) to nginx configuration.
//!
//! ```text
//! text -> lines: directives and sections, with their line numbers
//!      -> walk:  IfModule, Files, Limit, Directory -> guards
//!      -> access, env, headers, redirects, rewrite, settings -> parts of the site
//!      -> site: the parts of http { }, then server { }
//! ```
//!
//! All directives are translated to directives of `server`, in Apache's order of evaluation: access control, redirects,
//! rewrites. Sections (`<Files>`) become `if ($apache_file ~ …) { set … }`, so that no location has to repeat
//! directives of another.
//!
//! Lines that cannot be translated are reported as [`Remark`]s with the reason. If such a line is an access directive,
//! all clients are denied. If it is a `RewriteRule` with `[F]`, or a section, it is only reported: the user must check
//! it before the site is served.

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

/// Translates the text of a `.htaccess` file, or of a file with virtual hosts. Lines that cannot be translated are
/// reported in the remarks.
pub fn translate(text: &str, options: &TranslationOptions) -> Translation {
    let (items, remarks) = lines::read(text);
    site::write(walk::walk(&items, options, remarks), options)
}

#[cfg(test)]
mod tests;
