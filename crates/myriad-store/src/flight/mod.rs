//! Objects in flight: one writer, any number of readers.

mod lead;
mod message;
mod reader;
mod state;
mod writer;

pub(crate) use lead::Lead;
pub use message::{
    Abort, Admission, Capacity, Completed, Completion, Failure, FlightEnd, FlightHead, Push, Unstored,
};
pub use reader::FlightReader;
pub(crate) use state::{Flight, Phase, State, suits};
pub use writer::{BodyWriter, FlightWriter};
