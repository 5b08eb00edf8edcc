//! Edge side includes (ESI Language Specification 1.0, the subset described in `docs/esi.md`) without I/O.
//!
//! | file | content |
//! |---|---|
//! | `declaration` | detects markup in a response, and parses its properties sent by the origin |
//! | `tag` | parser of a tag: its name and its attributes |
//! | `cutter` | removes the markup from a page that arrives in pieces |
//! | `target` | allowed targets of an include: paths of the same host |
//! | `holes` | holes of a page, as stored with it |
//! | `fragments` | parts that are requested together, and the combined response |
//!
//! ```text
//! bytes of the origin -> Cutter -> common page, and a separate list of holes (Cut)
//! common page, holes, parts of a visitor -> page of that visitor
//! ```

mod cutter;
mod declaration;
mod fragments;
mod holes;
mod tag;
mod target;

pub use cutter::{Cutter, EsiLimits, EsiSink, HoleCollector, RejectedMarkup};
pub use declaration::{EsiDeclaration, reason};
pub use fragments::{Fragment, FragmentParser, InvalidFragments, joint_name};
pub use holes::{EsiInclude, Hole, PageHoles};
