//! Leak guard: finds data of a visitor in a response that is about to be stored and shared (`leak_guard`).
//!
//! ```text
//! request as sent to the origin -> private_values: cookies, credentials, arguments, address, browser
//! response head                 -> new cookies, stored fields
//! response body, piece by piece -> LeakScanner -> Leak: kind, name, place and value (which is not logged)
//! ```
//!
//! Stored pages are also verified by sampled requests: `sampled_request` makes their fields, and `rendering` compares
//! their responses.

mod encodings;
mod markup;
mod private_values;
mod rendering;
mod sampled_request;
mod scanner;

pub use markup::SentCookies;
pub use private_values::{
    CertificateSubject, LeakKind, PrivateInput, PrivateValue, PrivateValues, private_values,
};
pub use rendering::{Rendering, StableRendering};
pub use sampled_request::{
    Canary, RequestInput, other_browser, special_fields, without_browser, without_visitor,
};
pub use scanner::{Leak, LeakScanner, is_text};
