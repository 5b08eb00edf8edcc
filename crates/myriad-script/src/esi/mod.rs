//! Edge side includes (ESI Language Specification 1.0, the subset described in `docs/esi.md`) without I/O.
//!
//! | file | content |
//! |---|---|
//! | `said` | detects markup in a response, and parses its properties sent by the origin |
//! | `tag` | parser of a tag: its name and its attributes |
//! | `cutter` | removes the markup from a page that arrives in pieces |
//! | `target` | allowed targets of an include: paths of the same host |
//! | `cut` | holes of a page, as stored with it |
//! | `joint` | parts that are requested together, and the combined response |
//!
//! ```text
//! bytes of the origin -> Cutter -> common page, and a separate list of holes (Cut)
//! common page, holes, parts of a visitor -> page of that visitor
//! ```

mod cut;
mod cutter;
mod joint;
mod said;
mod tag;
mod target;

pub use cut::{EsiInclude, Hole, PageHoles};
pub use cutter::{Cutter, EsiLimits, EsiSink, HoleCollector, RejectedMarkup};
pub use joint::{Fragment, FragmentParser, InvalidFragments, joint_name};
pub use said::{EsiDeclaration, reason};
