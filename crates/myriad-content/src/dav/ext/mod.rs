//! `dav_ext_methods`: clients read properties of files, and lock them (RFC 4918; the directives of nginx's module
//! dav-ext).
//!
//! | file | content |
//! |---|---|
//! | `directives` | directives and their settings |
//! | `xml` | parsing of the bodies of PROPFIND and LOCK, and escaping of texts |
//! | `propfind` | properties of a file, and of the contents of a directory |
//! | `options` | supported methods |
//! | `locks` | tables of locks |
//! | `lock` | LOCK and UNLOCK, and the check of locks before a change |

mod directives;
mod lock;
mod locks;
mod options;
mod propfind;
mod xml;

pub(super) use directives::{ExtSettings, LockZone, LockZones, ROWS};
pub(super) use lock::{ChangeScope, check_locks, forget, lock, unlock};
pub(super) use options::options;
pub(super) use propfind::propfind;
pub use xml::{PropertyName, RequestedProperties, lock_info, parse_propfind};
