//! Edge side includes (ESI Language Specification 1.0, the subset that `docs/esi.md` names) without I/O.
//!
//! | file | what |
//! |---|---|
//! | `said` | whether an answer has markup, and what its origin says of it |
//! | `tag` | one tag: its name and its attributes |
//! | `cutter` | cuts the markup out of a page that comes in pieces |
//! | `target` | what an include may ask for: paths of the same host |
//! | `cut` | the holes of a page as they are kept with it |
//! | `joint` | parts that are asked for together, and the answer that they come in |
//!
//! ```text
//! bytes of the origin -> Cutter -> everybody's page, and beside it a list of holes (Cut)
//! everybody's page, holes, parts of one visitor -> that visitor's page
//! ```

#![forbid(unsafe_code)]

mod cut;
mod cutter;
mod joint;
mod said;
mod tag;
mod target;

pub use cut::{Cut, Hole, Include};
pub use cutter::{Collected, Cutter, Limits, Refused, Sink};
pub use joint::{BadFragments, Fragment, Fragments, joint_name};
pub use said::{Said, why};
