//! Cache decisions as pure functions: may a request use the cache, may a response be stored and for how long, may a
//! stored page be served, and which response does a conditional request receive.
//!
//! Decisions receive facts, the configuration as [`CachePolicy`], and the time as `now`, in milliseconds since the Unix
//! epoch. nginx's documented behaviour is the default, except for the differences that [`CachePolicy::default`] lists;
//! most rules name their directive or section of RFC 9111. These rules are stricter than nginx, and `*_ignore_headers`
//! does not disable them: `private` responses are never stored, responses that set a personal cookie are never stored,
//! and a server error never replaces a usable page.

#![forbid(unsafe_code)]

mod accelerator;
mod admit;
mod application_state;
mod bypass;
mod client_cookie;
mod device;
mod early_links;
mod early_refresh;
mod freshness;
mod impersonal;
mod languages;
mod leak_guard;
mod no_vary_search;
mod other_codings;
mod page_comparison;
mod page_history;
mod percent;
mod personal;
mod purge;
mod refresh_ahead;
mod request_errors;
mod request_status;
mod reuse;
mod rfc9111;
mod rules;
mod shared_fetch;
mod stale_windows;
mod status;
mod store_refusal;
mod stored_fields;
mod validators;
mod validity;
mod vary;

pub use admit::{Admission, Lifetime, ResponseFacts, admit, invalidates_stored_page, revalidated};
pub use application_state::{ApplicationState, STATE_FIELD};
pub use bypass::{BypassReason, RequestFacts, bypass, personal_cookie};
pub use client_cookie::client_retains_cookie;
pub use device::DeviceClass;
pub use early_links::{early_links, loads_early, page_assets};
pub use early_refresh::refreshes_early;
pub use freshness::freshness;
pub use impersonal::ImpersonalCookies;
pub use leak_guard::{
    Canary, CertificateSubject, Leak, LeakKind, LeakScanner, PrivateInput, PrivateValue, PrivateValues,
    Rendering, RequestInput, SentCookies, StableRendering, is_text, other_browser, private_values,
    special_fields, without_browser, without_visitor,
};
pub use no_vary_search::NoVarySearch;
pub use other_codings::{other_codings, varies_by_coding};
pub use page_comparison::{Difference, Noise, excerpt};
pub use page_history::{AFTER_PURGE_MS, PageHistory, RenderingComparison, StoredRendering};
pub use personal::PersonalCookies;
pub use purge::{
    PurgeCommand, PurgeSubject, PurgeTarget, Tags, Wildcard, is_forwarded, litespeed, parse_purge,
};
pub use refresh_ahead::{InspectedPage, RefreshAhead};
pub use request_errors::is_large_request;
pub use reuse::{RefreshFailure, Reuse, StoredFacts, reuse};
pub use rfc9111::{Invalidated, invalidates, wants_stored_only};
pub use rules::{
    AnnouncedSupport, CachePolicy, Grace, IgnoreHeaders, Invalidate, LeakSampling, LockRules, Methods,
    StatusMatch, UseStale, ValidFor,
};
pub use shared_fetch::{KeyedInput, SharedFetch, SharedFetchFields};
pub use status::CacheStatus;
pub use store_refusal::StoreRefusal;
pub use stored_fields::{StoredFields, is_updated};
pub use validators::{
    EntityTag, IfModifiedSince, PageEncoding, PreconditionOutcome, StoredValidators, if_range_holds,
    judge_conditions,
};
pub use validity::{Freshness, ValiditySource};
pub use vary::{VariantTooLong, VaryError, VaryRule, variant_fields};
