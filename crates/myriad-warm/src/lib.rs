//! What a cache is warmed with, and how fast: [`Sitemap`] and [`Heat`] say which pages there are, [`Pace`] how long to rest.
//!
//! Texts in, lists out; whoever calls reads files and asks for pages. A sitemap comes from the site's plugins and a log from its
//! visitors, so everything is bounded, and nothing in them is an error: what makes no sense is passed over.

#![forbid(unsafe_code)]

mod heat;
mod pace;
mod sitemap;

pub use heat::Heat;
pub use pace::{Budget, Pace};
pub use sitemap::{Sitemap, sitemaps_of_robots};
