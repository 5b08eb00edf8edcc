//! Edge side includes (ESI Language Specification 1.0, the subset described in `docs/esi.md`) without I/O.
//!
//! | file | content |
//! |---|---|
//! | `declaration` | properties of the markup that the origin declares in header fields |
//! | `tag` | parser of a tag: its name and its attributes |
//! | `cutter` | removal of the markup from a page that arrives in pieces |
//! | `target` | allowed targets of an include: paths of the same host |
//! | `holes` | holes of a shared page, as stored with it |
//! | `fragments` | fragments that are requested together, and the combined response |
//!
//! ```text
//! bytes of the origin -> Cutter -> shared page, and its holes (PageHoles)
//! shared page, holes, fragments of a client -> page of that client
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
