//! Flights: objects while they are fetched, each with one writer and any number of readers.

mod lead;
mod message;
mod reader;
mod state;
mod writer;

pub(crate) use lead::FlightLead;
pub use message::{
    Abort, Admission, Capacity, CollectState, Completed, Completion, FetchFailure, FlightEnd, FlightHead,
    NotStored,
};
pub use reader::FlightReader;
pub(crate) use state::{Flight, Phase, State, matches_request};
pub use writer::{BodyWriter, FlightWriter};
