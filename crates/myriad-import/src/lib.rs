//! Tells Apache's rules (`.htaccess`, virtual hosts) in the nginx language: text in, a site and [`Remark`]s out.
//!
//! ```text
//! text -> lines: directives and sections, with their line numbers
//!      -> walk:  IfModule, Files, Limit, Directory -> guards
//!      -> access, env, headers, redirects, rewrite, settings -> parts of the site
//!      -> site: what stands in http { }, then server { }
//! ```
//!
//! Everything comes to directives of `server`, in the order in which Apache asks: who may, what is redirected, what is rewritten.
//! Sections (`<Files>`) come to `if ($apache_file ~ …) { set … }`, so that no location has to repeat what another one says.
//! What cannot be told is a remark with the reason; where it is a line of who may, all are kept out. A `RewriteRule` with `[F]` and a section that
//! are not told are named and left out: look at each before it serves.

#![forbid(unsafe_code)]

mod access;
mod denials;
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
mod walk;

pub use denials::{Denials, DeniedPaths, Partly, denials, denied_paths};
pub use lines::LARGEST;
pub use pattern::{escaped, quoted};
pub use site::{Options, Remark, Translation};

/// Translates the text of a `.htaccess`, or of a file with virtual hosts. Never fails: what is not told is among the remarks.
pub fn translate(text: &str, options: &Options) -> Translation {
    let (items, remarks) = lines::read(text);
    site::write(walk::walk(&items, options, remarks), options)
}

#[cfg(test)]
mod tests;
