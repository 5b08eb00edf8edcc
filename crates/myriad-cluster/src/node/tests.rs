//! Tests of the node as a whole.

mod purges;
mod simulation;
