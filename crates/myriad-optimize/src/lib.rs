//! Page optimizer as pure functions: bytes in, bytes and a report out.
//!
//! [`scan`] lists the resources that a page loads. Filters make equivalent, smaller pages, style sheets and scripts.
//! Those that remove text or combine style sheets compare the result with the original; a filter returns the reason if
//! it leaves something unchanged that it could change. Names of filters are those of mod_pagespeed where the meaning is
//! the same. [`needed_resources`] lists what the caller fetches before [`optimize`] applies the filters to a page.
//! [`audit`] grades a page and reports what each filter would save.
//!
//! ```text
//! page -> html::tokenize -> scan -> resources, fetched by the caller -> filters -> edits, bundles, dependencies, reports
//! ```
//!
//! Pages and resources are untrusted. Sizes, numbers of tokens and nesting are limited by [`OptimizeLimits`].

#![forbid(unsafe_code)]

mod audit;
mod bundle;
mod charset;
pub mod css;
mod edit;
mod element_search;
mod exclude;
mod filter;
mod hints;
pub mod html;
pub mod images;
pub mod js;
mod limits;
mod needed;
mod optimize;
mod options;
mod page_context;
mod page_facts;
mod page_scripts;
mod page_styles;
mod resource;
mod style_runs;
mod url;

pub use audit::{AuditCheck, AuditGrade, PageAudit, audit};
pub use bundle::{BUNDLE_FOLDER, BundleKind, PageBundle};
pub use exclude::Exclusions;
pub use filter::{FilterName, FilterReport, FilterSet, SkipReason, SkippedSubject, counted};
pub use html::scan;
pub use limits::OptimizeLimits;
pub use needed::needed_resources;
pub use optimize::{OptimizedPage, optimize};
pub use options::{OptimizeOptions, PLACE_MARKER};
pub use page_context::PageResources;
pub use resource::PageResource;
pub use url::PageUrl;
