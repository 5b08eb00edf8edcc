//! `dav_ext_methods`: clients see the properties of files, and lock them (RFC 4918; the directives of nginx's module dav-ext).
//!
//! | file | what |
//! |---|---|
//! | `directives` | the rows, and what they say |
//! | `xml` | the bodies of PROPFIND and LOCK read, and texts written |
//! | `propfind` | the properties of a file, and of what is in a folder |
//! | `locks` | who has locked what, for all workers |
//! | `lock` | LOCK and UNLOCK; whether a change is of one who holds the lock |

mod directives;
mod lock;
mod locks;
mod options;
mod propfind;
mod xml;

pub(super) use directives::{ExtSettings, LockZone, LockZones, ROWS};
pub(super) use lock::{Change, allowed, forget, lock, unlock};
pub(super) use options::options;
pub(super) use propfind::propfind;
pub use xml::{Asked, Name, asked, lock_info};
