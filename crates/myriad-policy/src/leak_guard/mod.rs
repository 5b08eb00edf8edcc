//! Leak guard: finds data of a visitor in a response that is about to be stored and shared (`leak_guard`).
//!
//! ```text
//! request as sent to the origin -> private_values: cookies, credentials, arguments, address, browser
//! response head                 -> new cookies, stored fields
//! response body, piece by piece -> LeakScanner -> Leak: kind, name, place and value (which is not logged)
//! ```

mod encodings;
mod markup;
mod private_values;
mod scanner;

pub use markup::SentCookies;
pub use private_values::{
    CertificateSubject, LeakKind, PrivateInput, PrivateValue, PrivateValues, private_values,
};
pub use scanner::{Leak, LeakScanner};
